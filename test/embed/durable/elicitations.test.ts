// What a running call of a loop asks: the program finds it beside the approvals, by its call, too, and answers it; the loop gets the
// result of the call as ever.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Durable, openDurable } from '../../../embed/durable/open-durable.ts';
import type { TurnReply, TurnRequest } from '../../../embed/durable/turn.ts';
import { NotWaiting, type Question } from '../../../embed/runs/questions.ts';
import { brand } from '../../../schemas/index.ts';
import { type EngineClient, must } from '../../../src/client/index.ts';
import { openEngine } from '../../../src/index.ts';
import { type Served, TOKEN, serveClient } from '../../support/engine/serving.ts';
import { Talk } from '../../support/engine/world.ts';
import { durableAgentsTool } from '../../../embed/openai-agents/tools.ts';
import { functionTool } from '../../support/loops/openai-agents-loop.ts';
import { eventsOf } from '../../support/records.ts';

const SESSION = brand<'SessionId'>('shop');
const OWNER = brand<'OwnerId'>('loop');
const ASKED = { message: 'Which size?', schema: { type: 'object', required: ['size'] } };

let dataDir: string;
let opened: { readonly client: EngineClient; close(): Promise<void> };
let served: Served;
/** Knows the leases that the bridge of the loop gets. */
let talk: Talk;
let core: Durable;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'refold-asks-'));
  opened = await must(openEngine({ dataDir }));
  talk = new Talk(opened.client, SESSION);
  served = await serveClient(talk.client);
  core = await openDurable(
    { engine: served.url, token: TOKEN, session: SESSION, run: 'one', owner: OWNER },
    { api: 'openai_agents.model', model: 'm' },
  );
});

afterEach(async () => {
  await core.close();
  await served.close();
  await opened.close();
  await rm(dataDir, { recursive: true });
});

const FIND = { name: 'find', description: 'Finds.', schema: {}, mode: 'safe_write' } as const;

const CALLS: TurnReply = { content: '', calls: [{ id: 'c', name: 'find', arguments: {} }], parts: [{ call: 0 }] };
const DONE: TurnReply = { content: '', calls: [], parts: [], stop: { reason: 'end' } };

function nextTurn(messages: readonly string[], reply: TurnReply, results: TurnRequest['results'] = new Map()) {
  const prompt = messages.map((content) => ({ role: 'user', content }));
  const shared = { prompt, input: 'go', instructions: null, tools: [FIND], results };
  return core.turn({ ...shared, ask: () => Promise.resolve(reply) });
}

/** The id of the call that the model makes in the first turn. */
async function madeCall(): Promise<string> {
  const { calls } = await nextTurn(['go'], CALLS);
  return calls[0]?.id ?? expect.fail('no call was made');
}

const batchNow = async () => (await must(core.client.session(SESSION))).state.active_tool_batch;

/** The call asks, as the bridge that runs it would record it. */
async function askNow(resume?: string): Promise<void> {
  const batch = (await batchNow()) ?? expect.fail('no batch is open');
  const { call_id } = batch.plan.planned_calls[0] ?? expect.fail('no call was planned');
  const asks = { kind: 'ToolCallAsked', batch_id: batch.batch_id, call_id, attempt: 1, question: ASKED } as const;
  const event = resume === undefined ? asks : { ...asks, resume: { text: resume } };
  await talk.submit([event], OWNER);
}

const answersOnRecord = async (): Promise<readonly object[]> =>
  eventsOf(await must(core.client.records(SESSION, 0))).filter(({ kind }) => kind === 'user.elicitation_result');

test('is found and answered while the call runs, and its result reaches the loop', async () => {
  const id = await madeCall();
  const found: (Question | null)[] = [];
  async function run(): Promise<string> {
    await askNow();
    const [question] = await core.waiting();
    found.push(question ?? null, await core.question(id));
    await core.answer(question as Question, { action: 'accept', content: { size: 'XL' }, by: 'ada' });
    return 'found';
  }
  expect(await core.call({ id, tool: 'find', given: {}, run })).toContain('found');
  const [question] = found;
  expect(question).toMatchObject({ kind: 'elicitation', session: 'shop', tool: 'find', arguments: {}, asked: ASKED });
  expect(found[1]).toMatchObject({ kind: 'elicitation', digest: question?.digest });
  expect(await answersOnRecord()).toMatchObject([{ action: 'accept', content: { size: 'XL' }, by: 'ada' }]);
  expect(await core.waiting()).toEqual([]);
  expect(await core.question(id)).toBeNull();
  await expect(core.answer(question as Question, false)).rejects.toThrow(NotWaiting);
});

test('ends with cancel when the loop goes on without the call', async () => {
  const id = await madeCall();
  while ((await batchNow())?.running !== 1) await new Promise(setImmediate);
  await askNow('state');
  expect(await core.question(id)).toMatchObject({ kind: 'elicitation' });
  const results = new Map([[id, { text: 'I would rather not.', success: false }]]);
  expect(await nextTurn(['go', 'I would rather not.'], DONE, results)).toMatchObject({ turn: 2 });
  expect(await answersOnRecord()).toMatchObject([{ action: 'cancel' }]);
  const settled = eventsOf(await must(core.client.records(SESSION, 0))).find(({ kind }) => kind === 'ToolCallSettled');
  expect(settled).toMatchObject({ attempt: 2, result: { success: false } });
});

test('does not interrupt a framework as an approval does', async () => {
  const answered: unknown[] = [];
  const question = { kind: 'elicitation', tool: 'find', arguments: {}, reasons: [] } as unknown as Question;
  const open = { ...question, answer: (answer: unknown) => Promise.resolve(void answered.push(answer)) } as Question;
  const tool = durableAgentsTool(
    functionTool('find', () => 'found'),
    {
      call: () => expect.fail('nothing runs'),
      question: () => Promise.resolve(open),
    },
  );
  expect(await tool.needsApproval(undefined as never, {} as never, 'c')).toBe(false);
  expect(answered).toEqual([]);
});

// What the loop of a framework cannot take is refused, or ends its run.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Durable, type DurableOptions, openDurable } from '../../../embed/durable/open-durable.ts';
import type { RecordedTurn } from '../../../embed/durable/turn.ts';
import { brand } from '../../../schemas/index.ts';
import { must } from '../../../src/client/index.ts';

const SESSION = brand<'SessionId'>('shop');
let dataDir: string;
const opened: Durable[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'refold-words-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

async function open(options: Partial<DurableOptions> = {}): Promise<Durable> {
  const core = await openDurable(
    { dataDir, session: SESSION, run: 'one', ...options },
    { api: 'openai_agents.model', model: 'm' },
  );
  opened.push(core);
  return core;
}

const FIND = { name: 'find', description: 'Finds.', schema: {}, mode: 'read' } as const;
const reply = {
  content: '',
  calls: [{ id: 'c', name: 'find', arguments: {} }],
  parts: [{ call: 0 }],
  usage: { input_tokens: 100_000, output_tokens: 1 },
};

function ask(core: Durable, messages: readonly string[], calls = true): Promise<RecordedTurn> {
  const prompt = messages.map((content) => ({ role: 'user', content }));
  const answer = calls ? reply : { content: '', calls: [], parts: [], stop: { reason: 'end' as const } };
  const shared = { prompt, input: messages.at(-1) ?? '', instructions: null, tools: [FIND], results: new Map() };
  return core.turn({ ...shared, ask: () => Promise.resolve(answer) });
}

const text = { text: 'And order 43.' };

test.each([
  { kind: 'RunSteered', run_id: brand<'RunId'>('run-1'), input: text },
  { kind: 'user.interrupt', run_id: brand<'RunId'>('run-1'), input: text },
] as const)('a run that is given words by $kind ends as cancelled, and its loop is told', async (event) => {
  const core = await open();
  await ask(core, ['Refund order 42']);
  await must(core.client.submit(SESSION, { events: [event] }));
  const error: unknown = await ask(core, ['Refund order 42', 'found']).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'RunEnded', outcome: 'cancelled' });
  expect(String(error)).toContain('cannot reach it');
});

test('a follow-up run is cancelled when it begins, and the next run of the loop is its own', async () => {
  const core = await open();
  await ask(core, ['Refund order 42']);
  await must(core.client.submit(SESSION, { events: [{ kind: 'FollowUpQueued', follow_up: { input: text } }] }));
  await ask(core, ['Refund order 42', 'found'], false);
  await core.close();
  const next = await open({ run: 'two' });
  expect((await ask(next, ['What is the weather?'])).turn).toBe(1);
  const { run, run_history } = (await must(next.client.session(SESSION))).state;
  expect(run_history.map(({ run_id, ending }) => [run_id, ending.outcome])).toEqual([
    ['run-1', 'completed'],
    ['run-2', 'cancelled'],
  ]);
  expect(run?.run_id).toBe('run-3');
});

test('a context mark is refused, and one of the session is not kept', async () => {
  const context = { mark: 50_000 };
  await expect(open({ config: { context } })).rejects.toThrow('config.context is not for the loop');
  const core = await open();
  await ask(core, ['Refund order 42']);
  await must(core.client.submit(SESSION, { events: [{ kind: 'SessionConfigured', config: { context } }] }));
  await ask(core, ['Refund order 42', 'found'], false);
  await core.close();
  const next = await open({ run: 'two' });
  expect((await ask(next, ['a'])).turn).toBe(1);
  expect((await ask(next, ['a', 'b'])).turn).toBe(2);
  expect((await must(next.client.session(SESSION))).state.config.context ?? null).toBeNull();
});

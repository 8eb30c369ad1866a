// An agent of OpenAI Agents JS on the record of a session: its loop, its approvals and its streams, unchanged.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
  run,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import { must } from 'refold/client';
import {
  type DurableAgent,
  PromptDiffers,
  type Question,
  SessionInUse,
  type ToolHints,
  durable,
} from 'refold/openai-agents';
import type { SessionId } from 'refold/schemas';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

setTracingDisabled(true);

const world: string[] = [];
let dataDir: string;
const opened: { close: () => Promise<void> }[] = [];

beforeEach(async () => {
  world.length = 0;
  dataDir = await mkdtemp(join(tmpdir(), 'refold-agents-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

const said = (text: string): ModelResponse['output'] => [
  { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] },
];
const called = (...calls: readonly (readonly [name: string, order: string])[]): ModelResponse['output'] =>
  calls.map(([name, order]) => ({
    type: 'function_call',
    id: `fc_${name}_${order}`,
    callId: `${name}_${order}`,
    name,
    status: 'completed',
    arguments: JSON.stringify({ order }),
  }));

/** Finds two orders at once, then refunds one, then says so. */
const OUTPUTS = [called(['find', 'a'], ['find', 'b']), called(['refund', 'a']), said('Done.')];

const answersSoFar = (input: string | readonly object[]): number =>
  typeof input === 'string'
    ? 0
    : new Set(
        input
          .filter((item) => 'type' in item && item.type === 'function_call')
          .map((item) => 'name' in item && item.name),
      ).size;

const model: Model = {
  getResponse({ input }) {
    const turn = answersSoFar(input);
    world.push(`turn ${turn + 1}`);
    return Promise.resolve({
      responseId: `resp_${turn}`,
      usage: new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }),
      output: OUTPUTS[turn] ?? [],
    });
  },
  async *getStreamedResponse(request): AsyncGenerator<StreamEvent> {
    const { output, responseId = '' } = await this.getResponse(request);
    yield { type: 'response_started' };
    if (output[0]?.type === 'message') yield { type: 'output_text_delta', delta: 'Done.' };
    const response = {
      id: responseId,
      usage: { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 },
      output,
    };
    yield { type: 'response_done', response } as StreamEvent;
  },
};

const parameters = z.object({ order: z.string() });
const find = tool({
  name: 'find',
  description: 'Find an order.',
  parameters,
  execute: ({ order }) => {
    world.push(`find ${order}`);
    return { order, cents: 7 };
  },
});
const refund = tool({
  name: 'refund',
  description: 'Refund an order.',
  parameters,
  execute: ({ order }) => {
    world.push(`refund ${order}`);
    return `refunded ${order}`;
  },
});
/** As `refund`, and asks of itself: for every call, or as its function says. */
const asking = (needsApproval: true | ((context: unknown, input: { order: string }) => Promise<boolean>)) =>
  tool({
    name: 'refund',
    description: 'Refund an order.',
    parameters,
    needsApproval,
    execute: ({ order }) => {
      world.push(`refund ${order}`);
      return `refunded ${order}`;
    },
  });

const HINTS = { find: { mode: 'read' }, refund: { mode: 'safe_write' } } as const;

async function open(
  options: {
    readonly refund?: typeof refund;
    readonly hints?: Readonly<Record<string, ToolHints>>;
    readonly run?: string;
  } = {},
) {
  const { refund: given = refund, ...rest } = options;
  const durableOne = await durable({ dataDir, session: 'shop', model, tools: [find, given], hints: HINTS, ...rest });
  opened.push(durableOne);
  const agent = new Agent({ name: 'Clerk', instructions: 'Help.', model: durableOne.model, tools: durableOne.tools });
  return { durable: durableOne, agent };
}

const PROMPT = 'Refund order a';

test('runs as without the record, and a finished run of this name is given from it', async () => {
  const { agent, durable: first } = await open({ run: 'one' });
  const result = await run(agent, PROMPT);
  expect(result.finalOutput).toBe('Done.');
  expect(world).toEqual(['turn 1', 'find a', 'find b', 'turn 2', 'refund a', 'turn 3']);
  await first.close();
  const again = await open({ run: 'one' });
  const replayed = await run(again.agent, PROMPT);
  expect(replayed.finalOutput).toBe('Done.');
  expect(replayed.history).toEqual(result.history);
  expect(replayed.rawResponses).toEqual(JSON.parse(JSON.stringify(result.rawResponses)));
  expect(world).toHaveLength(6);
});

test('an unfinished run goes on in another process: its turns and calls are not done again', async () => {
  const { agent, durable: first } = await open({ refund: asking(true) });
  const interrupted = await run(agent, PROMPT);
  expect(interrupted.interruptions.map(({ name, arguments: args }) => [name, args])).toEqual([
    ['refund', '{"order":"a"}'],
  ]);
  await first.close();
  const { agent: later, durable: second } = await open({ refund: asking(true) });
  expect((await run(later, PROMPT)).interruptions).toHaveLength(1);
  const [question] = await second.waiting();
  expect(question).toMatchObject({ tool: 'refund', arguments: { order: 'a' }, reasons: ['tool_asks'] });
  await second.answer(question as Question, true);
  expect((await run(later, PROMPT)).finalOutput).toBe('Done.');
  expect(world).toEqual(['turn 1', 'find a', 'find b', 'turn 2', 'refund a', 'turn 3']);
});

describe('an interruption', () => {
  test('that the framework approves is an approval on record', async () => {
    const { agent, durable: one } = await open({ refund: asking(true) });
    const { state, interruptions } = await run(agent, PROMPT);
    for (const item of interruptions) state.approve(item);
    expect((await run(agent, state)).finalOutput).toBe('Done.');
    expect(world.filter((line) => line.startsWith('refund'))).toEqual(['refund a']);
    expect(await eventsOf(one, 'user.tool_confirmation')).toMatchObject([{ result: 'allow', by: 'interruption' }]);
  });

  test.each([false, true])(
    'answers for the call that it showed, whatever its id (always: %s)',
    async (alwaysApprove) => {
      const again: Model = {
        ...model,
        async getResponse({ input }) {
          const turn = Array.isArray(input) ? input.filter(({ type }) => type === 'function_call').length : 0;
          const output = [called(['refund', 'a']), called(['refund', 'b']), said('Done.')][turn] ?? [];
          const sameId = output.map((item) => (item.type === 'function_call' ? { ...item, callId: 'x' } : item));
          return { ...(await model.getResponse({ input: '' } as ModelRequest)), output: sameId };
        },
      };
      const one = await durable({ dataDir, session: 'shop', model: again, tools: [asking(true)] });
      opened.push(one);
      const agent = new Agent({ name: 'Clerk', model: one.model, tools: one.tools });
      let { state, interruptions } = await run(agent, PROMPT);
      for (const item of interruptions) state.approve(item, { alwaysApprove });
      ({ state, interruptions } = await run(agent, state));
      expect(interruptions.map(({ arguments: args }) => args)).toEqual(alwaysApprove ? [] : ['{"order":"b"}']);
      const by = alwaysApprove ? ['alwaysApprove', 'alwaysApprove'] : ['interruption'];
      expect(await eventsOf(one, 'user.tool_confirmation')).toMatchObject(by.map((who) => ({ by: who })));
      expect(world.filter((line) => line === 'refund b')).toHaveLength(alwaysApprove ? 1 : 0);
    },
  );

  test('that the framework rejects is a denial on record, and the tool does not run', async () => {
    const { agent, durable: one } = await open({ refund: asking(true) });
    const { state, interruptions } = await run(agent, PROMPT);
    for (const item of interruptions) state.reject(item, { message: 'Not today.' });
    expect((await run(agent, state)).finalOutput).toBe('Done.');
    expect(world).not.toContain('refund a');
    expect(await eventsOf(one, 'user.tool_confirmation')).toMatchObject([{ result: 'deny', message: 'Not today.' }]);
  });

  test('is left out for a call for which the function of the tool does not ask', async () => {
    const { agent, durable: one } = await open({ refund: asking((_, { order }) => Promise.resolve(order !== 'a')) });
    expect((await run(agent, PROMPT)).finalOutput).toBe('Done.');
    expect(await eventsOf(one, 'user.tool_confirmation')).toMatchObject([{ result: 'allow', by: 'needsApproval' }]);
  });

  test('is made for a call about which the policy asks', async () => {
    const { agent, durable: one } = await open({ hints: { ...HINTS, refund: { mode: 'destructive' } } });
    expect((await run(agent, PROMPT)).interruptions).toHaveLength(1);
    const [question] = await one.waiting();
    await one.answer(question as Question, { allow: false, message: 'No refunds.' });
    const { history } = await run(agent, PROMPT);
    expect(JSON.stringify(history)).toContain('No refunds.');
    expect(world).not.toContain('refund a');
  });
});

test('a stream shows the text while it is written, and ends with the record', async () => {
  const { agent, durable: one } = await open({ run: 'one' });
  const streamed = await run(agent, PROMPT, { stream: true });
  let shown = '';
  for await (const event of streamed) {
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') shown += event.data.delta;
  }
  await streamed.completed;
  expect([shown, streamed.finalOutput]).toEqual(['Done.', 'Done.']);
  await one.close();
  const again = await open({ run: 'one' });
  const replayed = await run(again.agent, PROMPT, { stream: true });
  await replayed.completed;
  expect(replayed.history).toEqual(streamed.history);
  expect(world).toHaveLength(6);
});

test('another prompt for a run of this name is refused, with the message that differs', async () => {
  const { agent, durable: one } = await open({ run: 'one' });
  await run(agent, PROMPT);
  await one.close();
  const again = await open({ run: 'one' });
  await expect(run(again.agent, 'Refund order b')).rejects.toThrow(PromptDiffers);
});

test('a session that another loop has is refused', async () => {
  await open();
  await expect(open()).rejects.toThrow(SessionInUse);
});

/** The recorded events of a kind. */
async function eventsOf(
  { client, session }: Pick<DurableAgent<Model, typeof find>, 'client' | 'session'>,
  kind: string,
) {
  const events: object[] = [];
  const { state } = await must(client.session(session as SessionId));
  for await (const { event, position } of client.follow(session as SessionId)) {
    if (event.kind === kind) events.push(event);
    if (position + 1 === state.version) break;
  }
  return events;
}

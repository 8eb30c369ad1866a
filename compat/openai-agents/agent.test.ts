// An agent of OpenAI Agents JS on the record of a session: its loop, its approvals and its streams, unchanged.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type Model, type ModelResponse, Usage, run, setTracingDisabled, tool } from '@openai/agents';
import { type DurableAgent, durable } from 'refold/openai-agents';
import { afterEach, beforeEach, expect, test } from 'vitest';
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
    : new Set(input.filter((item) => 'type' in item && item.type === 'function_call').map((item) => 'name' in item && item.name)).size;

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
  async *getStreamedResponse(request) {
    const { usage, output, responseId = '' } = await this.getResponse(request);
    yield { type: 'response_started' };
    if (output[0]?.type === 'message') yield { type: 'output_text_delta', delta: 'Done.' };
    yield { type: 'response_done', response: { id: responseId, usage: { ...usage, requestUsageEntries: undefined }, output } };
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
const asking = tool({ ...refund, parameters, needsApproval: true, execute: ({ order }) => void world.push(`refund ${order}`) });

const HINTS = { find: { mode: 'read' }, refund: { mode: 'safe_write' } } as const;

async function open(options: { readonly refund?: typeof refund; readonly hints?: object; readonly run?: string } = {}) {
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

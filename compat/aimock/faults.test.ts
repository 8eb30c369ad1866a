// The servers of models, played offline, with faults: too many requests twice, an internal error, streams that are cut, and
// answers that are no JSON. The loop of the AI SDK and agents of refold end with every effect once.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { type Fixture, LLMock } from '@copilotkit/aimock';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { createAgent, tool as agentTool } from 'refold/agent';
import { durable } from 'refold/ai-sdk';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

const refunds: string[] = [];
let dataDir: string;
let server: LLMock;
const opened: { close: () => Promise<void> }[] = [];

beforeEach(async () => {
  refunds.length = 0;
  dataDir = await mkdtemp(join(tmpdir(), 'refold-aimock-'));
  server = await LLMock.create({ port: 0, logLevel: 'silent' });
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await server.stop();
  await rm(dataDir, { recursive: true });
});

/** Refunds order 42, and says so. */
const FIXTURES: readonly Fixture[] = [
  {
    match: { hasToolResult: false },
    response: { toolCalls: [{ name: 'refund', arguments: '{"order":"42"}', id: 'call_1' }] },
  },
  { match: { hasToolResult: true }, response: { content: 'It is refunded, all of it.' } },
];

const CUT = 'streams that are cut';

/** What goes wrong with the first answer of each turn. */
const FAULTS: Readonly<Record<string, () => void>> = {
  'too many requests, twice': () => {
    server.addFixtures([...FIXTURES]);
    for (const _ of [1, 2]) server.nextRequestError(429, { message: 'slow down', type: 'rate_limit_error' });
  },
  'an internal error': () => {
    server.addFixtures([...FIXTURES]);
    server.nextRequestError(500, { message: 'oops', type: 'server_error' });
  },
  [CUT]: () => addFaulty({ truncateAfterChunks: 2, chunkSize: 3 }),
  'answers that are no JSON': () => addFaulty({ chaos: { malformedRate: 1 } }),
};

function addFaulty(fault: Partial<Fixture>): void {
  const once = FIXTURES.map((fixture) => ({ ...fixture, ...fault, match: { ...fixture.match, sequenceIndex: 0 } }));
  server.addFixtures([...once, ...FIXTURES]);
}

const PATHS = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' };

const asked = (): number => server.getRequests().length;

describe.each(['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const)('an agent with %s', (api) => {
  test.each(Object.entries(FAULTS))('goes on after %s: the refund happens once', async (_fault, prepare) => {
    prepare();
    const refund = agentTool({
      name: 'refund',
      description: 'Refund an order.',
      input: z.object({ order: z.string() }),
      run: ({ order }) => {
        refunds.push(order);
        return `refunded ${order}`;
      },
    });
    const agent = await createAgent({
      dataDir,
      model: `${api}:some-model`,
      baseUrl: `${server.url}${PATHS[api]}`,
      apiKey: 'a-key-of-the-mock',
      tools: [refund],
      consent: 'allow_all',
    });
    opened.push(agent);
    const { status, text } = await agent.run('Refund order 42').result();
    expect([status, text, refunds]).toEqual(['completed', 'It is refunded, all of it.', ['42']]);
    expect(asked()).toBeGreaterThan(2);
  });
});

describe.each(['chat', 'responses'] as const)('the AI SDK with the %s API of OpenAI', (api) => {
  const refund = tool({
    description: 'Refund an order.',
    inputSchema: z.object({ order: z.string() }),
    execute: ({ order }) => {
      refunds.push(order);
      return `refunded ${order}`;
    },
  });

  const open = async () => {
    const provider = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'a key' });
    const options = { dataDir, session: 'shop', run: 'one', model: provider[api]('gpt-4o'), tools: { refund } };
    const agent = await durable({ ...options, consent: 'allow_all' });
    opened.push(agent);
    return agent;
  };
  type Agent = Awaited<ReturnType<typeof open>>;

  const prompt = 'Refund order 42';
  const stopWhen = stepCountIs(10);
  const generated = async ({ model, tools }: Agent) =>
    (await generateText({ model, tools, prompt, stopWhen, maxRetries: 2 })).text;

  async function streamed({ model, tools }: Agent): Promise<string> {
    const errors: unknown[] = [];
    const onError = ({ error }: { readonly error: unknown }) => void errors.push(error);
    const { textStream } = streamText({ model, tools, prompt, stopWhen, maxRetries: 2, onError });
    let text = '';
    for await (const delta of textStream) text += delta;
    if (errors.length > 0) throw errors[0];
    return text;
  }

  /** What the SDK does not try again, the application does. */
  async function untilDone(agent: Agent, work: (agent: Agent) => Promise<string>, tries = 4): Promise<string> {
    try {
      return await work(agent);
    } catch (error) {
      if (tries === 1) throw error;
      return await untilDone(agent, work, tries - 1);
    }
  }

  describe.each([
    ['generateText', generated, Object.entries(FAULTS).filter(([fault]) => fault !== CUT)],
    ['streamText', streamed, Object.entries(FAULTS)],
  ] as const)('and %s', (_name, work, faults) => {
    test.each(faults)('goes on after %s: the refund happens once', async (_fault, prepare) => {
      prepare();
      const agent = await open();
      expect(await untilDone(agent, work)).toBe('It is refunded, all of it.');
      expect(refunds).toEqual(['42']);
      const requests = asked();
      expect(requests).toBeGreaterThan(2);
      await agent.close();
      expect(await untilDone(await open(), work)).toBe('It is refunded, all of it.');
      expect([asked(), refunds]).toEqual([requests, ['42']]);
    });
  });
});

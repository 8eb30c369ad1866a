// The loop of the AI SDK on the record of a session.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createAgent, tool } from '../../../embed/agent/index.ts';
import {
  type AiSdkTool,
  type AiSdkTools,
  type DurableOptions,
  type ModelMessage,
  durable,
  fromAiSdk,
} from '../../../embed/ai-sdk/index.ts';
import { brand } from '../../../schemas/index.ts';
import { must } from '../../../src/client/index.ts';
import { type Script, generate, scriptedModel } from '../../support/loops/ai-sdk-loop.ts';

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end();
});

async function newDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'refold-durable-'));
  ended.push(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

const SESSION = brand<'SessionId'>('order-42');
const hello = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] } as const;

function newShop() {
  const refunds: string[] = [];
  const find = {
    description: 'Find an order.',
    inputSchema: order,
    execute: (input: { order: string }) => ({ ...input, cents: 7 }),
  };
  const refund = {
    description: 'Refund an order.',
    inputSchema: order,
    execute(input: { order: string }) {
      refunds.push(input.order);
      return `refunded ${input.order}`;
    },
  };
  return { refunds, tools: { find, refund } };
}

const refunding: Script = (turn) => {
  if (turn === 1) return { text: 'Let me see.', calls: [{ id: 'c1', name: 'find', input: { order: '42' } }] };
  return turn === 2 ? { calls: [{ id: 'c2', name: 'refund', input: { order: '42' } }] } : { text: 'Done.' };
};

type Options = Partial<DurableOptions<never, never>> & { readonly script?: Script; readonly more?: AiSdkTools };

async function open({ script = refunding, more = {}, ...options }: Options = {}) {
  const dataDir = options.dataDir ?? (await newDataDir());
  const asked: number[] = [];
  const shop = newShop();
  const model = scriptedModel((turn, call) => {
    asked.push(turn);
    return script(turn, call);
  });
  const agent = await durable({
    session: 'order-42',
    consent: 'allow_all',
    ...options,
    dataDir,
    model,
    tools: { ...shop.tools, ...more },
  });
  ended.push(() => agent.close());
  return { agent, asked, dataDir, ...shop };
}

describe('a loop', () => {
  test.each([false, true])('gets its answer and each effect happens once (streams: %s)', async (streams) => {
    const { agent, refunds, asked } = await open();
    const answer = await generate({ ...agent, prompt: 'Refund order 42', streams });
    expect(answer.text).toBe('Done.');
    expect(answer.steps.map(({ results }) => results.map(({ output }) => output))).toEqual([
      [{ type: 'json', value: { order: '42', cents: 7 } }],
      [{ type: 'text', value: 'refunded 42' }],
      [],
    ]);
    expect(refunds).toEqual(['42']);
    expect(asked).toEqual([1, 2, 3]);
  });

  test('gets every part of an answer again as it came: thoughts, signatures, files, sources', async () => {
    const parts = [
      { type: 'reasoning', text: 'Hm.', providerMetadata: { maker: { signature: 'c2ln' } } },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 250]) },
    ];
    const script: Script = () => ({ parts, text: 'A picture.' });
    const { agent, dataDir } = await open({ run: 'draw', script });
    const first = await agent.model.doGenerate({ prompt: hello });
    await agent.close();
    const second = await open({ run: 'draw', dataDir, script });
    expect(await second.agent.model.doGenerate({ prompt: hello })).toEqual(first);
    expect(first.content).toEqual([...parts, { type: 'text', text: 'A picture.' }]);
    expect(first.response.timestamp).toEqual(new Date(1_700_000_000_000));
    expect(second.asked).toEqual([]);
  });

  test('shows what the model writes before the turn is on record, and acts on no call before', async () => {
    const { agent } = await open();
    const { stream } = await agent.model.doStream({ prompt: hello });
    const seen: string[] = [];
    for await (const { type } of stream) {
      seen.push(type);
      const state = (await must(agent.client.session(SESSION))).state;
      if (type === 'tool-call') expect(state.active_tool_batch).not.toBeNull();
      if (type === 'text-start') expect(state.active_tool_batch).toBeNull();
    }
    expect(seen.filter((type) => type !== 'text-delta')).toEqual([
      'stream-start',
      'response-metadata',
      'text-start',
      'text-end',
      'tool-call',
      'finish',
    ]);
  });

  test('asks again after an error of the provider, and the record has only the answer', async () => {
    const failures = [
      { isRetryable: true, message: 'slow down' },
      { isRetryable: true, message: 'away' },
    ];
    const script: Script = () => {
      const failure = failures.shift();
      if (failure !== undefined) throw Object.assign(new Error(failure.message), failure);
      return { text: 'Done.' };
    };
    const { agent, asked } = await open({ script });
    await expect(generate({ ...agent, prompt: 'Hello' })).rejects.toThrow('slow down');
    expect((await generate({ ...agent, prompt: 'Hello', retriesMax: 1 })).text).toBe('Done.');
    expect(asked).toHaveLength(3);
    const { run_history } = (await must(agent.client.session(SESSION))).state;
    expect(run_history.map(({ ending, turn }) => [ending.outcome, turn])).toEqual([['completed', 1]]);
  });

  test.each([
    ['says is cut off', 'interrupted', [{ type: 'text', text: 'Half of' }]],
    ['could not read', 'other', []],
  ])('is told of an answer that the provider %s, and it is not on record', async (_why, unified, content) => {
    const whole = scriptedModel(() => ({ text: 'Done.' }));
    const answers = [{ content, finishReason: { unified, raw: undefined }, usage: {}, warnings: [] }];
    const doGenerate: typeof whole.doGenerate = async (call) =>
      (answers.shift() as never) ?? (await whole.doGenerate(call));
    const agent = await durable({
      dataDir: await newDataDir(),
      session: 'order-42',
      model: { ...whole, doGenerate },
    });
    ended.push(() => agent.close());
    await expect(generate({ ...agent, prompt: 'Hello' })).rejects.toThrow('ended before its answer was complete');
    expect((await generate({ ...agent, prompt: 'Hello' })).text).toBe('Done.');
    const { run_history } = (await must(agent.client.session(SESSION))).state;
    expect(run_history.map(({ turn }) => turn)).toEqual([1]);
  });

  test('that aborts ends its run as cancelled, and stops the function', async () => {
    const abort = new AbortController();
    const { agent, tools } = await open();
    const stopped = new Promise<string>((resolve) => {
      tools.refund.execute = ((_input: object, { abortSignal }: { abortSignal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          abortSignal.addEventListener('abort', () => {
            resolve('stopped');
            reject(new Error('stopped'));
          });
          abort.abort(new Error('enough'));
        })) as never;
    });
    const running = generate({ ...agent, prompt: 'Refund order 42', abortSignal: abort.signal });
    await expect(running).rejects.toThrow('enough');
    expect(await stopped).toBe('stopped');
    const ending = async () => (await must(agent.client.session(SESSION))).state.run_history.at(-1)?.ending.outcome;
    while ((await ending()) === undefined) await new Promise(setImmediate);
    expect(await ending()).toBe('cancelled');
  });

  test('has several runs in a session, and one that is over is not given again without a name', async () => {
    const { agent, refunds, asked } = await open();
    for (const _ of [1, 2]) expect((await generate({ ...agent, prompt: 'Refund order 42' })).text).toBe('Done.');
    expect(refunds).toEqual(['42', '42']);
    expect(asked).toHaveLength(6);
  });

  test('may stop before the model is done, and says so', async () => {
    const { agent } = await open();
    await generate({ ...agent, prompt: 'Refund order 42', stepsMax: 1 });
    await agent.complete();
    const { run, run_history } = (await must(agent.client.session(SESSION))).state;
    expect([run, run_history.at(-1)?.ending.outcome]).toEqual([null, 'completed']);
  });

  test('brings the results of tools that the application runs with its next prompt', async () => {
    const script: Script = (turn) =>
      turn === 1 ? { calls: [{ id: 'c1', name: 'locate', input: {} }] } : { text: 'Berlin.' };
    const locate: AiSdkTool = { description: 'Where?', inputSchema: { type: 'object' } } as object;
    const { agent } = await open({ script, more: { locate } });
    const first = await generate({ ...agent, prompt: 'Where am I?' });
    expect((await agent.waiting()).map(({ kind, call }) => [kind, call])).toEqual([['task', 'c1']]);
    const output = { type: 'text', value: 'Berlin' };
    const result = { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'locate', output }] };
    const second = await generate({ ...agent, messages: [...first.messages, result] });
    expect(second.text).toBe('Berlin.');
  });

  test('asks a person for a call of a tool that needs approval, and only for that one', async () => {
    const script: Script = (turn) =>
      turn === 1
        ? { calls: ['1', '100'].map((order) => ({ id: `c${order}`, name: 'pay', input: { order } })) }
        : { text: 'Paid.' };
    const paid: string[] = [];
    const pay = {
      description: 'Pay.',
      inputSchema: order,
      needsApproval: ({ order: amount }: { order: string }) => Number(amount) > 10,
      execute: ({ order: amount }: { order: string }) => paid.push(amount),
    };
    const { agent } = await open({ script, more: { pay } });
    const running = generate({ ...agent, prompt: 'Pay both' });
    while (paid.length === 0) await new Promise(setImmediate);
    const [question, ...others] = await agent.waiting();
    expect([question?.call, others]).toEqual(['c100', []]);
    await question?.answer(true);
    expect((await running).text).toBe('Paid.');
    expect(paid).toEqual(['1', '100']);
  });

  test('goes on when a person answers at the moment at which the function of the tool says that it need not', async () => {
    const script: Script = (turn) =>
      turn === 1 ? { calls: [{ id: 'c1', name: 'pay', input: { order: '1' } }] } : { text: 'Paid.' };
    const pay = { description: 'Pay.', inputSchema: order, needsApproval: () => false, execute: () => 'paid' };
    const { agent } = await open({ script, more: { pay } });
    const submit = agent.client.submit.bind(agent.client);
    vi.spyOn(agent.client, 'submit').mockImplementation((session, batch) => async () => {
      const [event] = batch.events;
      if (event?.kind === 'user.tool_confirmation' && event.by === 'needsApproval') {
        await must(submit(session, { events: [{ ...event, by: 'a person' }] }));
      }
      return await submit(session, batch)();
    });
    expect((await generate({ ...agent, prompt: 'Pay' })).text).toBe('Paid.');
  });
});

describe('what cannot work is refused', () => {
  test('a model that is a name, or of another specification', async () => {
    await expect(durable({ dataDir: 'x', session: 's', model: 'openai/gpt' as never })).rejects.toThrow('is a name');
    const model = { ...scriptedModel(() => ({})), specificationVersion: 'v1' };
    await expect(durable({ dataDir: 'x', session: 's', model })).rejects.toThrow('specification "v1"');
  });

  test('a tool that only the loop knows', async () => {
    const { agent } = await open();
    const more = { other: { description: '', inputSchema: order, execute: () => 1 } };
    const loop = { ...agent, tools: { ...agent.tools, ...more } };
    await expect(generate({ ...loop, prompt: 'Hello' })).rejects.toThrow('"other" is not on record');
  });

  test('a run without a name that another loop has left, with a prompt of another run', async () => {
    const { agent, dataDir } = await open();
    await generate({ ...agent, prompt: 'Refund order 42', stepsMax: 1 });
    await agent.close();
    const second = await open({ dataDir });
    const error = await generate({ ...second.agent, prompt: 'Something else' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'PromptDiffers', turn: 1, index: 0, role: 'user' });
    await second.agent.cancel();
    expect((await generate({ ...second.agent, prompt: 'Something else' })).text).toBe('Done.');
  });
});

describe('a model of the SDK as a provider', () => {
  test('answers an agent of refold, and gets its own parts back', async () => {
    const prompts: (readonly ModelMessage[])[] = [];
    const thought = { type: 'reasoning', text: 'Hm.', providerMetadata: { maker: { signature: 'c2ln' } } };
    const model = scriptedModel(async (turn, { prompt }) => {
      prompts.push(prompt);
      return { parts: [thought], ...(await refunding(turn, { prompt })) };
    });
    const look = tool({ name: 'find', description: 'Find.', input: order, mode: 'read', run: () => 'found' });
    const refund = tool({ name: 'refund', description: 'Refund.', input: order, run: () => 'refunded' });
    const options = { dataDir: await newDataDir(), consent: 'allow_all', tools: [look, refund] } as const;
    const agent = await createAgent({ ...options, model: fromAiSdk(model), instructions: 'Be kind.' });
    ended.push(() => agent.close());
    expect(await agent.run('Refund order 42').result()).toMatchObject({ status: 'completed', text: 'Done.' });
    const { providerMetadata: providerOptions, ...thinking } = thought;
    expect(prompts[1]).toEqual([
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Refund order 42' }] },
      {
        role: 'assistant',
        content: [
          { ...thinking, providerOptions },
          { type: 'text', text: 'Let me see.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'find', input: { order: '42' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'find', output: { type: 'text', value: 'found' } },
        ],
      },
    ]);
  });
});

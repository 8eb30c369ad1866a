// generateText and streamText of the real AI SDK on the record of a session, unchanged: their loop, retries and approvals.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sdk from 'ai';
import { APICallError, Output, type ToolSet, ToolLoopAgent, generateText, stepCountIs, streamText, tool } from 'ai';
import { must } from 'refold/client';
import {
  type DurableAgent,
  type DurableOptions,
  PromptDiffers,
  type Question,
  SessionInUse,
  durable,
} from 'refold/ai-sdk';
import type { SessionId } from 'refold/schemas';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Script, scriptedModel } from './scripted-model.ts';

const world: string[] = [];
let dataDir: string;
const opened: { close: () => Promise<void> }[] = [];

beforeEach(async () => {
  world.length = 0;
  dataDir = await mkdtemp(join(tmpdir(), 'refold-ai-sdk-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

/** Finds two orders at once, then refunds one, then says so. */
const refunding: Script = (turn) =>
  turn === 1
    ? {
        text: 'Let me see.',
        calls: [
          ['find', 'a'],
          ['find', 'b'],
        ],
      }
    : turn === 2
      ? { calls: [['refund', 'a']] }
      : { text: 'Done, it is refunded.' };

const inputSchema = z.object({ order: z.string() });
const find = tool({
  description: 'Find an order.',
  inputSchema,
  execute: ({ order }) => {
    world.push(`find ${order}`);
    return { order, cents: 7 };
  },
});
const refunded = ({ order }: { readonly order: string }): string => {
  world.push(`refund ${order}`);
  return `refunded ${order}`;
};
const refund = tool({ description: 'Refund an order.', inputSchema, execute: refunded });

const HINTS = { find: { mode: 'read' }, refund: { mode: 'safe_write' } } as const;

type Options = Partial<Omit<DurableOptions<never, ToolSet>, 'model'>> & { readonly script?: Script };

async function open({ script = refunding, tools = { find, refund }, ...options }: Options = {}) {
  const model = scriptedModel((turn, asked) => {
    world.push(`turn ${turn}`);
    return script(turn, asked);
  });
  const agent = await durable({ dataDir, session: 'shop', hints: HINTS, ...options, model, tools });
  opened.push(agent);
  return agent;
}

type Agent = DurableAgent<ReturnType<typeof scriptedModel>, ToolSet>;

const PROMPT = 'Refund order a';
const WHOLE = ['turn 1', 'find a', 'find b', 'turn 2', 'refund a', 'turn 3'];
const stopWhen = stepCountIs(10);

const generate = ({ model, tools }: Agent, prompt = PROMPT, more: { readonly abortSignal?: AbortSignal } = {}) =>
  generateText({ model, tools, prompt, stopWhen, ...more });

/** What a step of the loop was, as the SDK tells it. */
const told = (
  steps: readonly { readonly content: unknown; readonly finishReason: string; readonly usage: unknown }[],
) => steps.map(({ content, finishReason, usage }) => ({ content, finishReason, usage }));

/** Streams a whole answer, and returns its text, its steps, and the errors that it was told of. */
async function stream({ model, tools }: Agent, prompt = PROMPT) {
  const errors: unknown[] = [];
  const result = streamText({
    model,
    tools,
    prompt,
    stopWhen,
    maxRetries: 0,
    onError: ({ error }) => void errors.push(error),
  });
  let text = '';
  for await (const delta of result.textStream) text += delta;
  return { text, errors, steps: errors.length > 0 ? [] : told(await result.steps) };
}

const endingsOf = async ({ client, session }: Agent) =>
  (await must(client.session(session as SessionId))).state.run_history.map(({ ending }) => ending.outcome);

/** The calls that wait, once there are so many. */
async function waitingFor(agent: Agent, count: number): Promise<readonly Question[]> {
  for (;;) {
    const questions = await agent.waiting();
    if (questions.length === count) return questions;
    await new Promise(setImmediate);
  }
}

test('the SDK here is the one that is meant', () => {
  // Version 7 has this name for what 6 calls stepCountIs.
  expect('isStepCount' in sdk).toBe(process.env['REFOLD_COMPAT_AI'] === 'v4');
});

describe('generateText', () => {
  test('runs as without the record, and a finished run of this name is given from it', async () => {
    const first = await open({ run: 'one' });
    const bare = await generateText({
      model: scriptedModel(refunding),
      tools: { find, refund },
      prompt: PROMPT,
      stopWhen,
    });
    world.length = 0;
    const answer = await generate(first);
    expect(answer.text).toBe('Done, it is refunded.');
    expect(told(answer.steps)).toEqual(told(bare.steps));
    expect(answer.response.messages).toEqual(bare.response.messages);
    expect(world).toEqual(WHOLE);
    await first.close();
    const again = await generate(await open({ run: 'one' }));
    expect(told(again.steps)).toEqual(told(answer.steps));
    expect(again.response.messages).toEqual(answer.response.messages);
    expect(world).toEqual(WHOLE);
  });

  test('has the calls of an answer run at the same time', async () => {
    let running = 0;
    let bothRun = (): void => undefined;
    const both = new Promise<void>((resolve) => {
      bothRun = resolve;
    });
    const waits = tool({
      description: 'Find an order.',
      inputSchema,
      async execute({ order }) {
        running += 1;
        if (running === 2) bothRun();
        await both;
        return order;
      },
    });
    const agent = await open({ tools: { find: waits, refund } });
    expect((await generate(agent)).text).toBe('Done, it is refunded.');
  });

  test('has several runs in a session: one that is over is given again only by its name', async () => {
    const agent = await open();
    await generate(agent);
    await generate(agent, 'Refund order a once more');
    expect(world).toEqual([...WHOLE, ...WHOLE]);
    expect(await endingsOf(agent)).toEqual(['completed', 'completed']);
  });

  test('goes on with its messages in the next run', async () => {
    const agent = await open({ script: () => ({ text: 'Hello.' }) });
    const { response } = await generate(agent, 'Hello');
    const messages = [
      { role: 'user' as const, content: 'Hello' },
      ...response.messages,
      { role: 'user' as const, content: 'Again' },
    ];
    const { text } = await generateText({ model: agent.model, tools: agent.tools, messages });
    expect([text, await endingsOf(agent)]).toEqual(['Hello.', ['completed', 'completed']]);
  });

  test('that is aborted cancels its run and stops the function; a later one begins anew', async () => {
    const abort = new AbortController();
    let stopped = (_by: string): void => undefined;
    const stop = new Promise<string>((resolve) => {
      stopped = resolve;
    });
    let times = 0;
    const hanging = tool({
      description: 'Refund an order.',
      inputSchema,
      execute: ({ order }, { abortSignal }) =>
        new Promise<string>((resolve, reject) => {
          times += 1;
          if (times > 1) return resolve(`refunded ${order}`);
          abortSignal?.addEventListener('abort', () => {
            stopped('its signal');
            reject(new Error('stopped'));
          });
          abort.abort(new Error('enough'));
        }),
    });
    const agent = await open({ tools: { find, refund: hanging } });
    await expect(generate(agent, PROMPT, { abortSignal: abort.signal })).rejects.toThrow('enough');
    expect(await stop).toBe('its signal');
    expect((await generate(agent)).text).toBe('Done, it is refunded.');
    expect(await endingsOf(agent)).toEqual(['cancelled', 'completed']);
  });

  test('asks again after errors of the provider that may pass, and gives others to the application', async () => {
    const failures = [429, 503, 400];
    const script: Script = () => {
      const statusCode = failures.shift();
      if (statusCode === undefined) return { text: 'Done.' };
      throw new APICallError({
        message: `failed with ${statusCode}`,
        url: 'https://example.com',
        requestBodyValues: {},
        statusCode,
        responseHeaders: { 'retry-after-ms': '1' },
      });
    };
    const agent = await open({ script });
    await expect(generate(agent)).rejects.toThrow('failed with 400');
    expect((await generate(agent)).text).toBe('Done.');
    expect(world).toEqual(['turn 1', 'turn 1', 'turn 1', 'turn 1']);
    expect(await endingsOf(agent)).toEqual(['completed']);
  });

  test('tells the model of a tool that fails, and of one that does not exist, and goes on', async () => {
    const failing = tool({
      description: 'Refund.',
      inputSchema,
      execute: (): string => {
        throw new Error('the bank is closed');
      },
    });
    const prompts: string[] = [];
    const script: Script = (turn, { prompt }) => {
      prompts.push(JSON.stringify(prompt));
      return turn === 1
        ? {
            calls: [
              ['refund', 'a'],
              ['burn', 'b'],
            ],
          }
        : { text: 'I give up.' };
    };
    const agent = await open({ run: 'one', script, tools: { find, refund: failing } });
    const answer = await generate(agent);
    expect(answer.text).toBe('I give up.');
    expect(prompts.at(-1)).toContain('the bank is closed');
    expect(prompts.at(-1)).toContain("unavailable tool 'burn'");
    await agent.close();
    const again = await generate(await open({ run: 'one', script, tools: { find, refund: failing } }));
    expect(again.text).toBe('I give up.');
    expect(world).toEqual(['turn 1', 'turn 2']);
  });

  test('gives objects', async () => {
    const agent = await open({ run: 'one', script: () => ({ text: '{"cents":7}' }) });
    const ask = async ({ model }: Agent) => {
      const output = Output.object({ schema: z.object({ cents: z.number() }) });
      return (await generateText({ model, prompt: 'How much?', output })).output;
    };
    expect(await ask(agent)).toEqual({ cents: 7 });
    await agent.close();
    expect(await ask(await open({ run: 'one' }))).toEqual({ cents: 7 });
    expect(world).toEqual(['turn 1']);
  });

  test('in the agent class of the SDK', async () => {
    const { model, tools } = await open();
    const clerk = new ToolLoopAgent({ model, tools, instructions: 'Help.' });
    expect((await clerk.generate({ prompt: PROMPT })).text).toBe('Done, it is refunded.');
    expect(world).toEqual(WHOLE);
  });
});

describe('streamText', () => {
  test('shows the text as it is written, and a replay has every part again', async () => {
    const first = await open({ run: 'one' });
    const streamed = await stream(first);
    expect(streamed).toMatchObject({ text: 'Let me see.Done, it is refunded.', errors: [] });
    expect(world).toEqual(WHOLE);
    await first.close();
    expect(await stream(await open({ run: 'one' }))).toEqual(streamed);
    expect(world).toEqual(WHOLE);
  });

  test('and generateText have the same record', async () => {
    const first = await open({ run: 'one' });
    const { steps } = await stream(first);
    await first.close();
    expect(told((await generate(await open({ run: 'one' }))).steps)).toEqual(steps);
    expect(world).toEqual(WHOLE);
  });

  test('whose stream is cut is told so, and nothing of that answer is on record', async () => {
    let isCut = true;
    const agent = await open({ script: () => ({ text: 'Half of it', cut: isCut }) });
    const { errors } = await stream(agent);
    expect(String(errors[0])).toContain('before its answer was complete');
    isCut = false;
    expect((await stream(agent)).text).toBe('Half of it');
    const { run_history } = (await must(agent.client.session('shop' as SessionId))).state;
    expect(run_history.map(({ turn, ending }) => [turn, ending.outcome])).toEqual([[1, 'completed']]);
  });

  test('with another prompt than the recorded one is told which message differs', async () => {
    const first = await open({ run: 'one' });
    await stream(first);
    await first.close();
    const { errors } = await stream(await open({ run: 'one' }), 'Refund order b');
    expect(errors[0]).toBeInstanceOf(PromptDiffers);
    expect(world).toEqual(WHOLE);
  });
});

describe('an approval', () => {
  const script: Script = (turn) => (turn === 1 ? { calls: [['refund', 'a']] } : { text: 'Done.' });

  test('of the policy waits inside the call, through a restart', async () => {
    const options = { run: 'one', script, hints: { ...HINTS, refund: { mode: 'destructive' } } } as const;
    const first = await open(options);
    const running = generate(first).catch((error: unknown) => error);
    await waitingFor(first, 1);
    await first.close();
    expect(await running).toMatchObject({ name: 'RunUnfinished' });
    const second = await open(options);
    const [question] = await waitingFor(second, 1);
    expect(question).toMatchObject({ tool: 'refund', arguments: { order: 'a' } });
    await second.answer(question as Question, true);
    expect((await generate(second)).text).toBe('Done.');
    expect(world).toEqual(['turn 1', 'refund a', 'turn 2']);
  });

  test('that is denied is told to the model, and the function does not run', async () => {
    const prompts: string[] = [];
    const asked: Script = (turn, call) => {
      prompts.push(JSON.stringify(call.prompt));
      return script(turn, call);
    };
    const agent = await open({ script: asked, hints: { refund: { mode: 'destructive' } } });
    const running = generate(agent);
    const [question] = await waitingFor(agent, 1);
    await agent.answer(question as Question, { allow: false, message: 'No refunds today.' });
    expect((await running).text).toBe('Done.');
    expect(prompts.at(-1)).toContain('No refunds today.');
    expect(world).not.toContain('refund a');
  });

  test('that the tool needs is a question on record', async () => {
    const needing = tool({ description: 'Refund.', inputSchema, needsApproval: true, execute: refunded });
    const agent = await open({ script, tools: { find, refund: needing } });
    const running = generate(agent);
    const [question] = await waitingFor(agent, 1);
    expect(question).toMatchObject({ tool: 'refund', reasons: ['tool_asks'] });
    expect(world).toEqual(['turn 1']);
    await agent.answer(question as Question, true);
    expect((await running).text).toBe('Done.');
  });

  test('that the function of a tool needs is a question for those calls alone', async () => {
    const both: Script = (turn) =>
      turn === 1
        ? {
            calls: [
              ['refund', 'a'],
              ['refund', 'b'],
            ],
          }
        : { text: 'Done.' };
    const needsApproval = ({ order }: { readonly order: string }): boolean => order === 'b';
    const needing = tool({ description: 'Refund.', inputSchema, needsApproval, execute: refunded });
    const agent = await open({ script: both, tools: { find, refund: needing } });
    const running = generate(agent);
    while (!world.includes('refund a')) await new Promise(setImmediate);
    const [question] = await waitingFor(agent, 1);
    expect(question).toMatchObject({ arguments: { order: 'b' } });
    await agent.answer(question as Question, true);
    expect((await running).text).toBe('Done.');
    expect(world).toEqual(['turn 1', 'refund a', 'refund b', 'turn 2']);
  });
});

test('another prompt for a run of this name is refused, with the message that differs', async () => {
  const first = await open({ run: 'one' });
  await generate(first);
  await first.close();
  const again = await open({ run: 'one' });
  const error: unknown = await generate(again, 'Refund order b').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PromptDiffers);
  expect(error).toMatchObject({ session: 'shop', turn: 1, index: 0, role: 'user' });
});

test('a session that another loop has is refused', async () => {
  await open();
  await expect(open()).rejects.toThrow(SessionInUse);
});

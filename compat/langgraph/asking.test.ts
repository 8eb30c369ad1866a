// Every way of asking the real class of chat models: on record, or refused.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { tool } from '@langchain/core/tools';
import { durable } from 'refold/langgraph';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';

let dataDir: string;
let asked = 0;
let ran = 0;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'refold-asking-'));
  asked = 0;
  ran = 0;
});

afterEach(() => rm(dataDir, { recursive: true }));

class Scripted extends BaseChatModel {
  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override _generate(): Promise<ChatResult> {
    asked += 1;
    return Promise.resolve({ generations: [{ message: new AIMessage('Let me see.'), text: '' }] });
  }

  override async *_streamResponseChunks(): AsyncGenerator<ChatGenerationChunk> {
    asked += 1;
    for (const text of ['Let me ', 'see.']) {
      yield await Promise.resolve(new ChatGenerationChunk({ text, message: new AIMessageChunk(text) }));
    }
    const call = { type: 'tool_call_chunk', index: 0, id: 'x', name: 'refund', args: '{"order":"42"}' } as const;
    yield new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content: '', tool_call_chunks: [call] }) });
  }
}

const refund = tool(() => (ran += 1), {
  name: 'refund',
  description: 'Refund an order.',
  schema: z.object({ order: z.string() }),
});

const open = () =>
  durable({
    dataDir,
    session: 'shop',
    run: 'one',
    model: new Scripted({}),
    tools: [refund],
    hints: { refund: { mode: 'safe_write' } },
    toMessage: (fields) => new AIMessage(fields as never),
  });

/** Calls every method on the prototypes, and takes all that it gives. Resolves with the names of those that were refused. */
async function refusedOf(made: object, original: object): Promise<readonly string[]> {
  const names = new Set<string>();
  for (let at: object | null = original; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name);
  }
  // It loads a table of tokens from the network.
  names.delete('getNumTokens');
  const refused: string[] = [];
  for (const name of names) {
    try {
      const method: unknown = Reflect.get(made, name);
      if (typeof method !== 'function') continue;
      const given: unknown = await method.call(made, [['human', 'hello']], { version: 'v2' });
      if (typeof given !== 'object' || given === null || !(Symbol.asyncIterator in given)) continue;
      for await (const _ of given as AsyncIterable<unknown>) continue;
    } catch (error) {
      if (error instanceof Error && error.message.includes('around the record')) refused.push(name);
    }
  }
  return refused;
}

test('every method that the class has asks on record or is refused, and no tool runs', async () => {
  const { model, tools, close } = await open();
  expect(await refusedOf(model, new Scripted({}))).toEqual(
    expect.arrayContaining([
      'generate',
      'generatePrompt',
      'batch',
      'streamEvents',
      '_streamResponseChunks',
      '_generate',
    ]),
  );
  expect(asked).toBe(1);
  expect(await refusedOf(tools[0] as object, refund)).toEqual(
    expect.arrayContaining(['call', '_call', 'func', 'batch']),
  );
  expect(ran).toBe(0);
  await close();
});

test('a stream is joined as ever; after a restart its answer comes from the record, and the refund runs once', async () => {
  const first = await open();
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await first.model.stream([['human', 'Refund order 42']])) chunks.push(chunk);
  const whole = chunks.reduce((joined, chunk) => joined.concat(chunk));
  expect(whole).toBeInstanceOf(AIMessageChunk);
  expect(whole).toMatchObject({ content: 'Let me see.', tool_calls: [{ id: 'run-1-1-0', args: { order: '42' } }] });
  await first.tools[0]?.invoke(whole.tool_calls?.[0] as never);
  await first.close();

  const again = await open();
  const parsed = again.model.pipe(new StringOutputParser());
  let text = '';
  for await (const piece of await parsed.stream([['human', 'Refund order 42']])) text += piece;
  expect(text).toBe('Let me see.');
  await again.tools[0]?.invoke(whole.tool_calls?.[0] as never);
  await again.close();
  expect([asked, ran]).toEqual([1, 1]);
});

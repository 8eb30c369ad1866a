// Every way of asking a chat model of LangGraph, and of running its tools: on record, or refused.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { durable } from '../../../embed/langgraph/index.ts';
import { ChatModel, Chunk, Tool } from '../../support/loops/langgraph-classes.ts';

let dataDir: string;
const opened: { readonly close: () => Promise<void> }[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'refold-asking-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

async function open(model: ChatModel, tool = new Tool()) {
  const graph = await durable({
    dataDir,
    session: 'shop',
    run: 'one',
    model,
    tools: [tool],
    hints: { refund: { mode: 'safe_write' } },
  });
  opened.push(graph);
  return graph;
}

/** The names of all methods of an object, its own and those of its classes. */
function methodsOf(object: object): readonly string[] {
  const names = new Set<string>();
  for (
    let at: object | null = object;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name !== 'constructor' && typeof Reflect.get(at, name, object) === 'function') names.add(name);
    }
  }
  return [...names];
}

/** Calls a method as its framework would, and takes all that it gives. Resolves with the error, or null. */
async function errorOf(object: object, name: string): Promise<unknown> {
  try {
    const method = Reflect.get(object, name) as (...given: unknown[]) => unknown;
    const given = await Reflect.apply(method, object, [['hello']]);
    const isStream = typeof given === 'object' && given !== null && Symbol.asyncIterator in given;
    if (isStream) for await (const _ of given as AsyncIterable<unknown>) continue;
    return null;
  } catch (error) {
    return error;
  }
}

test('every method that a chat model inherits asks on record, or is refused', async () => {
  const model = new ChatModel(() => ({ content: 'Hi.' }));
  const { model: asked } = await open(model);
  const refused: string[] = [];
  for (const name of methodsOf(model)) {
    const error = await errorOf(asked, name);
    if (error instanceof TypeError && error.message.includes('around the record')) refused.push(name);
  }
  // The first that asked is on record; all others were given its answer.
  expect(model.asked).toBe(1);
  expect(refused).toEqual(
    expect.arrayContaining(['generate', 'batch', 'streamEvents', '_streamResponseChunks', 'ofALaterVersion']),
  );
  expect(refused).not.toEqual(expect.arrayContaining(['stream']));
  expect(await errorOf(asked, 'stream')).toBeNull();
  await expect(async () => asked.generate()).rejects.toThrow('use invoke() or stream()');
});

test('what a model is bound in asks on record, too, and a sequence is refused', async () => {
  const model = new ChatModel(() => ({ content: 'Hi.' }));
  const { model: asked } = await open(model);
  const variant = asked.withConfig();
  await variant.invoke(['hello']);
  await variant.bound.invoke(['hello']);
  await variant.bound.bindTools().invoke(['hello']);
  expect(model.asked).toBe(1);
  await expect(open(Object.assign(new ChatModel(() => ({})), { middle: [] }))).rejects.toThrow('no chat model');
});

test('every method that a tool inherits runs nothing but a call on record', async () => {
  const tool = new Tool();
  const { tools } = await open(new ChatModel(() => ({})), tool);
  for (const name of methodsOf(tool)) {
    if (name === 'schema' || name === 'getName') continue;
    const error = await errorOf(tools[0] as Tool, name);
    expect({ name, error: error instanceof Error }).toEqual({ name, error: true });
  }
  expect(tool.ran).toBe(0);
  expect((tools[0] as Tool).schema).toBe(tool.schema);
});

test('an answer that is streamed shows its text at once, and its calls when they are on record; later it comes from there', async () => {
  const model = new ChatModel((turn) =>
    turn === 1
      ? { content: 'Let me see.', calls: [{ id: 'x', name: 'refund', args: '{"order":"42"}' }] }
      : { content: 'Done.' },
  );
  const tool = new Tool();
  const first = await open(model, tool);
  const chunks = await all(await first.model.stream(['Refund order 42']));
  expect(chunks.map(({ content }) => content)).toEqual(['Let ', 'me ', 'see.', '']);
  const answer = chunks.reduce((whole, chunk) => whole.concat(chunk));
  expect(answer).toBeInstanceOf(Chunk);
  expect(answer.tool_calls).toEqual([{ type: 'tool_call', id: 'run-1-1-0', name: 'refund', args: { order: '42' } }]);
  const [call] = answer.tool_calls;
  const result = await first.tools[0]?.invoke(call);
  await first.close();

  const again = await open(model, tool);
  const [recorded, ...further] = await all(await again.model.stream(['Refund order 42']));
  expect(further).toEqual([]);
  expect(recorded).toMatchObject({ type: 'ai', content: 'Let me see.', tool_calls: answer.tool_calls });
  expect(await again.tools[0]?.invoke(recorded?.tool_calls[0])).toBe(result);
  expect([model.asked, tool.ran]).toEqual([1, 1]);
});

test('a stream that fails at once rejects, and one that fails later ends with the error; nothing is recorded', async () => {
  const model = new ChatModel((_, ask) => (ask < 3 ? { content: 'a b', failsAt: ask - 1 } : { content: 'Hi.' }));
  const { model: asked } = await open(model);
  await expect(asked.stream(['hello'])).rejects.toThrow('no connection');
  await expect(all(await asked.stream(['hello']))).rejects.toThrow('no connection');
  expect((await all(await asked.stream(['hello']))).map(({ content }) => content)).toEqual(['Hi.']);
});

test('in a sequence that is streamed, it takes what the step before it gives', async () => {
  const model = new ChatModel(() => ({ content: 'Hi.' }));
  const { model: asked } = await open(model);
  async function* given() {
    yield ['hel'];
    yield ['lo'];
  }
  expect(await all(asked.transform(given()))).toHaveLength(1);
  expect(model.prompts).toEqual([['hel', 'lo']]);
});

async function all(chunks: AsyncIterable<object>): Promise<readonly Chunk[]> {
  const found: Chunk[] = [];
  for await (const chunk of chunks) found.push(chunk as Chunk);
  return found;
}

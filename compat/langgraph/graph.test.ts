// A graph of LangGraph on the record of a session: a chat model and a tool node, unchanged.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, createReactAgent, toolsCondition } from '@langchain/langgraph/prebuilt';
import {
  type DurableGraphOptions,
  type DurableRun,
  type Question,
  RunUnfinished,
  SessionInUse,
  durable,
} from 'refold/langgraph';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

const world: string[] = [];
let dataDir: string;
const opened: { close: () => Promise<void> }[] = [];

beforeEach(async () => {
  world.length = 0;
  dataDir = await mkdtemp(join(tmpdir(), 'refold-graph-'));
});

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await rm(dataDir, { recursive: true });
});

const call = (name: string, order: string) => ({
  type: 'tool_call' as const,
  id: `${name}_${order}`,
  name,
  args: { order },
});

/** Finds two orders at once, then refunds one, then says so. */
const ANSWERS = [
  { content: 'Let me see.', tool_calls: [call('find', 'a'), call('find', 'b')] },
  { content: '', tool_calls: [call('refund', 'a')] },
  { content: 'Done.', tool_calls: [] },
];

class Scripted extends BaseChatModel {
  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const turn = messages.filter((message) => message.getType() === 'ai').length;
    world.push(`turn ${turn + 1}`);
    const { content, tool_calls } = ANSWERS[turn] ?? { content: 'More.', tool_calls: [] };
    const usage_metadata = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const message = Object.assign(new AIMessage({ id: `answer_${turn}`, content, tool_calls }), { usage_metadata });
    return Promise.resolve({ generations: [{ message, text: '' }] });
  }
}

const schema = z.object({ order: z.string() });
const find = tool(
  ({ order }) => {
    world.push(`find ${order}`);
    return { order, cents: 7 };
  },
  { name: 'find', description: 'Find an order.', schema },
);
const refund = tool(
  ({ order }) => {
    world.push(`refund ${order}`);
    if (order === 'b') throw new Error('no such order');
    return `refunded ${order}`;
  },
  { name: 'refund', description: 'Refund an order.', schema },
);

const HINTS = { find: { mode: 'read' }, refund: { mode: 'safe_write' } } as const;
const INPUT = { messages: [{ role: 'user', content: 'Refund order a' }] };

type Options = Partial<DurableGraphOptions<Scripted, typeof find>>;

async function open(options: Options = {}) {
  const model = new Scripted({});
  const made = await durable({ dataDir, session: 'shop', model, tools: [find, refund], hints: HINTS, ...options });
  opened.push(made);
  return made;
}

type Graph = Pick<Awaited<ReturnType<typeof open>>, 'model' | 'tools'>;

/** The graph that the documentation of the framework begins with. */
function graphOf({ model, tools }: Graph, checkpointer?: MemorySaver) {
  const bound = model.bindTools();
  return (
    new StateGraph(MessagesAnnotation)
      .addNode('agent', async ({ messages }) => ({ messages: [await bound.invoke(messages)] }))
      // The tools tell the model themselves how a call failed; what they throw must end the graph.
      .addNode('tools', new ToolNode(tools, { handleToolErrors: false }))
      .addEdge('__start__', 'agent')
      .addConditionalEdges('agent', toolsCondition)
      .addEdge('tools', 'agent')
      .compile(checkpointer === undefined ? {} : { checkpointer })
  );
}

const ALL = ['turn 1', 'find a', 'find b', 'turn 2', 'refund a', 'turn 3'];
const textsOf = ({ messages }: { readonly messages: readonly BaseMessage[] }) =>
  messages.map((message) => [message.getType(), message.content]);

test('runs as without the record, and a finished run of this name is given from it', async () => {
  const first = await open({ run: 'one' });
  const result = await graphOf(first).invoke(INPUT);
  expect(textsOf(result)).toEqual([
    ['human', 'Refund order a'],
    ['ai', 'Let me see.'],
    ['tool', '{"order":"a","cents":7}'],
    ['tool', '{"order":"b","cents":7}'],
    ['ai', ''],
    ['tool', 'refunded a'],
    ['ai', 'Done.'],
  ]);
  expect(world).toEqual(ALL);
  expect(result.messages.at(-1)).toMatchObject({ id: 'answer_2', usage_metadata: { total_tokens: 15 } });
  await first.close();
  expect(textsOf(await graphOf(await open({ run: 'one' })).invoke(INPUT))).toEqual(textsOf(result));
  expect(world).toEqual(ALL);
});

test('the prebuilt agent runs as without the record', async () => {
  const { model, tools } = await open({ toMessage: (fields) => new AIMessage(fields as never) });
  const agent = createReactAgent({ llm: model, tools, prompt: 'Help.' });
  expect(textsOf(await agent.invoke(INPUT)).at(-1)).toEqual(['ai', 'Done.']);
  expect(world).toEqual(ALL);
});

test('an unfinished run goes on in another process: its turns and calls are not done again', async () => {
  const asks = { hints: { ...HINTS, refund: { mode: 'safe_write', ask: true } } } as const;
  const first = await open(asks);
  const left = graphOf(first)
    .invoke(INPUT)
    .catch((error: unknown) => error);
  const [asked] = await questionsOf(first);
  expect(asked).toMatchObject({ tool: 'refund', arguments: { order: 'a' } });
  await first.close();
  expect(await left).toBeInstanceOf(RunUnfinished);
  const second = await open(asks);
  const going = graphOf(second).invoke(INPUT);
  const [question] = await questionsOf(second);
  await second.answer(question as Question, true);
  expect(textsOf(await going).at(-1)).toEqual(['ai', 'Done.']);
  expect(world).toEqual(ALL);
});

describe('a checkpointer', () => {
  const config = { configurable: { thread_id: 'one' } };

  test('that goes on with the calls of a tool node finds them on record', async () => {
    const saver = new MemorySaver();
    const asks = { hints: { ...HINTS, refund: { mode: 'safe_write', ask: true } } } as const;
    const first = await open(asks);
    const left = graphOf(first, saver)
      .invoke(INPUT, config)
      .catch((error: unknown) => error);
    await questionsOf(first);
    await first.close();
    expect(await left).toBeInstanceOf(RunUnfinished);
    const second = await open(asks);
    const going = graphOf(second, saver).invoke(null, config);
    const [question] = await questionsOf(second);
    await second.answer(question as Question, true);
    expect(textsOf(await going).at(-1)).toEqual(['ai', 'Done.']);
    expect(world).toEqual(ALL);
  });

  test('and tools alone: the calls of a step are on record, and are not run again', async () => {
    const saver = new MemorySaver();
    const bare = new Scripted({});
    const asks = { hints: { ...HINTS, refund: { mode: 'safe_write', ask: true } } } as const;
    const toolsOnly = async () => {
      const made = await durable({ dataDir, session: 'shop', tools: [find, refund], ...asks });
      opened.push(made);
      return { made, graph: graphOf({ ...made, model: bare }, saver) };
    };
    const first = await toolsOnly();
    const left = first.graph.invoke(INPUT, config).catch((error: unknown) => error);
    await questionsOf(first.made);
    await first.made.close();
    expect(await left).toBeInstanceOf(RunUnfinished);
    const second = await toolsOnly();
    const going = second.graph.invoke(null, config);
    const [question] = await questionsOf(second.made);
    await second.made.answer(question as Question, true);
    expect(textsOf(await going).at(-1)).toEqual(['ai', 'Done.']);
    expect(world).toEqual(ALL);
    await second.made.complete();
  });
});

test('a tool that throws is told to the model as the framework tells it, and recorded as failed', async () => {
  const { tools } = await durable({ dataDir, session: 'shop', tools: [find, refund], hints: HINTS }).then((made) => {
    opened.push(made);
    return made;
  });
  const message = new AIMessage({ content: '', tool_calls: [call('refund', 'b')] });
  const { messages } = (await new ToolNode(tools).invoke({ messages: [message] })) as { messages: BaseMessage[] };
  expect(messages[0]?.content).toContain('no such order');
  expect(world).toEqual(['refund b']);
});

test('a session that another loop has is refused', async () => {
  await open();
  await expect(open()).rejects.toThrow(SessionInUse);
});

/** The questions of a session, as soon as there is one. */
async function questionsOf({ waiting }: Pick<DurableRun, 'waiting'>) {
  for (;;) {
    const open = await waiting().catch(() => []);
    if (open.length > 0) return open;
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

// A small imitation of a graph of LangGraph, which no test needs installed: a chat model and a tool node, one after the other.
import type { GraphAnswer, GraphCall, GraphModel, GraphTool } from '../../../embed/langgraph/index.ts';

export type GraphScript = (
  turn: number,
  messages: readonly unknown[],
) => { readonly text?: string; readonly calls?: readonly GraphCall[] };

/** A message as the imitation keeps it. */
interface Message {
  readonly type: string;
  readonly content: unknown;
  readonly tool_calls?: readonly GraphCall[];
  readonly tool_call_id?: string;
}

/** The index of the turn is the number of answers in the prompt. */
export function scriptedModel(script: GraphScript): GraphModel {
  return {
    async invoke(input: never): Promise<GraphAnswer> {
      const turn = (input as readonly Message[]).filter(({ type }) => type === 'ai').length + 1;
      const { text = '', calls = [] } = await Promise.resolve(script(turn, input));
      return {
        id: `answer_${turn}`,
        content: [
          { type: 'thinking', sealed: turn },
          { type: 'text', text, index: 0 },
        ],
        tool_calls: calls,
        usage_metadata: { input_tokens: 7, output_tokens: 3 },
      };
    },
    bindTools(): GraphModel {
      return this;
    },
  };
}

/** A structured tool, which answers a call with a message. */
export const structuredTool = (name: string, run: (args: never) => unknown): GraphTool => ({
  name,
  description: `The tool ${name}.`,
  schema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  async invoke(call: never) {
    const { id, args } = call as GraphCall;
    const result = await run(args as never);
    const content = typeof result === 'string' ? result : JSON.stringify(result);
    return { type: 'tool', content, tool_call_id: id, name };
  },
});

export interface GraphOptions {
  readonly model: GraphModel;
  readonly tools: readonly GraphTool[];
  /** The messages so far: a checkpointer has more than the prompt. */
  readonly messages: readonly Message[];
  /** Is given the messages after each step, as a checkpointer is. */
  readonly onStep?: (messages: readonly Message[]) => void;
}

/** Runs the graph until its model makes no more calls; returns all messages. */
export async function runGraph({ model, tools, messages: given, onStep }: GraphOptions): Promise<readonly Message[]> {
  const bound = model.bindTools?.(tools as never) ?? model;
  const messages: Message[] = [...given];
  for (;;) {
    const last = messages.at(-1);
    if (last?.type === 'ai') {
      const { tool_calls: calls = [] } = last;
      if (calls.length === 0) return messages;
      messages.push(...(await Promise.all(calls.map((call) => runCall(call, tools)))));
    } else {
      messages.push((await bound.invoke([...messages] as never)) as Message);
    }
    onStep?.([...messages]);
  }
}

async function runCall(call: GraphCall, tools: readonly GraphTool[]): Promise<Message> {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) throw new Error(`no tool ${call.name}`);
  const content = await tool.invoke({ ...call, type: 'tool_call' } as never, {} as never);
  return { type: 'tool', content, ...(call.id === undefined ? {} : { tool_call_id: call.id }) };
}

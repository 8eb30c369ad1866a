// Tools of a tool node whose calls run through the record. What describes them is inherited from the tools that they stand for.
import { CallNotSucceeded } from '../durable/errors.ts';
import type { LoopCallContext } from '../durable/loop-calls.ts';
import type { Durable } from '../durable/open-durable.ts';
import { resultOfText } from '../durable/result-text.ts';
import type { GraphCall, GraphTool } from './sdk.ts';
import { HARMLESS, standIn } from './stand-in.ts';
import type { Steps } from './steps.ts';

interface DurableToolOptions extends Pick<Durable, 'call'>, Pick<Steps, 'ready'> {}

type Invoke = (given: GraphCall, config?: { readonly signal?: AbortSignal }) => Promise<unknown>;

export function durableGraphTool<Tool extends GraphTool>(tool: Tool, { call, ready }: DurableToolOptions): Tool {
  const invoke: Invoke = async (given, config = {}) => {
    const { id } = given;
    if (id === undefined) throw new Error(`a call of "${tool.name}" has no id: give the tool to a ToolNode`);
    const { name } = tool;
    const recorded = await ready({ ...given, id, name });
    const run = async (args: unknown, { signal }: LoopCallContext): Promise<unknown> =>
      contentOf(await tool.invoke({ ...given, args } as never, { ...config, signal } as never));
    try {
      const brought = { id: recorded, tool: name, given: given.args };
      const result = resultOfText(await call({ ...brought, run, signal: config.signal }));
      return typeof result === 'string' ? result : JSON.stringify(result);
    } catch (error) {
      // What became of the call is what the model is to read.
      if (error instanceof CallNotSucceeded) return error.message;
      throw error;
    }
  };
  return standIn(tool, { invoke }, STAND_IN);
}

const STAND_IN = {
  what: 'tool',
  use: 'invoke() with a call of the model, as a ToolNode does',
  harmless: new Set(HARMLESS),
  // Some libraries of schemas make functions.
  values: new Set(['schema']),
};

/** A tool that is called with an id answers with a message; its content is the result. */
const contentOf = (output: unknown): unknown =>
  typeof output === 'object' && output !== null && 'tool_call_id' in output && 'content' in output
    ? output.content
    : output;

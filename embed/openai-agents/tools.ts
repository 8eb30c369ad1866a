// Function tools of the framework whose calls run through the record.
import { CallNotSucceeded } from '../durable/errors.ts';
import type { Durable } from '../durable/open-durable.ts';
import { resultOfText } from '../durable/result-text.ts';
import type { AgentsCallDetails, AgentsTool } from './sdk.ts';

/**
 * Whether a tool may ask of itself. Its function takes the arguments when it decides by them: then every call asks, and those
 * that it does not ask for are allowed at once.
 */
export const isAlwaysAsking = async (tool: AgentsTool): Promise<boolean> =>
  tool.needsApproval.length > 0 || (await tool.needsApproval(undefined as never, undefined as never));

/**
 * A call that waits for a person interrupts the framework's run, as one of a tool that needs an approval does. What the
 * framework runs in spite of that was approved there.
 */
export function durableAgentsTool<Tool extends AgentsTool>(
  tool: Tool,
  { call, question }: Pick<Durable, 'call' | 'question'>,
): Tool {
  return {
    ...tool,
    // The record bounds the time of a call, from when it may run.
    timeoutMs: undefined,
    async needsApproval(context: never, input: never, id = ''): Promise<boolean> {
      const open = await question(id);
      if (open === null) return false;
      if (open.reasons.some((reason) => reason !== 'tool_asks')) return true;
      if (await tool.needsApproval(context, input, id)) return true;
      await open.answer({ allow: true, by: 'needsApproval' });
      return false;
    },
    async invoke(context: never, input: string, details: AgentsCallDetails = {}): Promise<unknown> {
      const id = details.toolCall?.callId;
      if (id === undefined) throw new Error(`a call of "${tool.name}" has no id: run its agent, not the tool`);
      await (await question(id))?.answer({ allow: true, by: 'interruption' });
      try {
        const run = ({ signal }: { readonly signal: AbortSignal }) =>
          tool.invoke(context, input, { ...details, signal });
        return resultOfText(await call({ id, run, signal: details.signal }));
      } catch (error) {
        // What became of the call is what the model is to read.
        if (error instanceof CallNotSucceeded) return error.message;
        throw error;
      }
    },
  };
}

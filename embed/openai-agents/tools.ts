// Function tools of the framework whose calls run through the record.
import { CallNotSucceeded } from '../durable/errors.ts';
import type { LoopCallContext } from '../durable/loop-calls.ts';
import type { Durable } from '../durable/open-durable.ts';
import { resultOfText } from '../durable/result-text.ts';
import type { Question } from '../runs/questions.ts';
import type { AgentsCallDetails, AgentsTool } from './sdk.ts';

/**
 * Whether a tool may ask of itself. Its function takes the arguments when it decides by them: then every call asks, and those
 * that it does not ask for are allowed at once.
 */
export const isAlwaysAsking = async (tool: AgentsTool): Promise<boolean> =>
  tool.needsApproval.length > 0 || (await tool.needsApproval(undefined as never, undefined as never));

/** The framework's own approvals, as far as they are read. */
interface Approvals {
  isToolApproved?(call: { readonly toolName: string; readonly callId: string }): boolean | undefined;
}

/**
 * Who allowed a call in the framework: the answer to an interruption about this very call, or an answer for every call of the
 * tool. Null when nobody did: then a call that asks waits for a person.
 */
function allowedBy(context: Approvals | undefined, toolName: string, callId: string): string | null {
  if (context?.isToolApproved?.({ toolName, callId }) !== true) return null;
  return context.isToolApproved({ toolName, callId: '' }) === true ? 'alwaysApprove' : 'interruption';
}

/** A function that fails for the recorded arguments asks: the framework converts them, and a person need not. */
async function asksFor(tool: AgentsTool, context: never, { arguments: recorded, call }: Question): Promise<boolean> {
  try {
    return await tool.needsApproval(context, recorded as never, call);
  } catch {
    return true;
  }
}

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
      // What a call asks itself is no question of whether it may run: it waits inside its function.
      if (open === null || open.kind === 'elicitation') return false;
      if (open.tool !== tool.name || open.reasons.some((reason) => reason !== 'tool_asks')) return true;
      if (await tool.needsApproval(context, input, id)) return true;
      // What is allowed are the recorded arguments, so that the function of the tool must not ask for them, either.
      if (await asksFor(tool, context, open)) return true;
      await open.answer({ allow: true, by: 'needsApproval' });
      return false;
    },
    async invoke(context: never, input: string, details: AgentsCallDetails = {}): Promise<unknown> {
      const id = details.toolCall?.callId;
      if (id === undefined) throw new Error(`a call of "${tool.name}" has no id: run its agent, not the tool`);
      const run = (recorded: unknown, { signal }: LoopCallContext): unknown => {
        const text = JSON.stringify(recorded);
        const toolCall = { ...details.toolCall, callId: id, arguments: text };
        return tool.invoke(context, text, { ...details, toolCall, signal });
      };
      try {
        const brought = { id, tool: tool.name, given: input, run, allowedBy: allowedBy(context, tool.name, id) };
        return resultOfText(await call({ ...brought, signal: details.signal }));
      } catch (error) {
        // What became of the call is what the model is to read.
        if (error instanceof CallNotSucceeded) return error.message;
        throw error;
      }
    },
  };
}

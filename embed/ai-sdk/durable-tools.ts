// Tools whose functions run under refold's plan and policy, once, and whose results come from the record.
import type { Durable } from '../durable/open-durable.ts';
import type { ToolHints } from '../durable/loop-tools.ts';
import { resultOfText } from '../durable/result-text.ts';
import { readInput } from './read-input.ts';
import type { KnownTool } from './durable-model.ts';

/** A tool object of the AI SDK, as far as it is read. */
export interface AiSdkTool {
  /** `provider` for one that runs at the provider. */
  readonly type?: string | undefined;
  /** Of the arguments; it checks and converts them. */
  readonly inputSchema?: unknown;
  /** Runs a call; of an async iterable, the last value is the result. Absent when the application brings the result. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each tool has its own types
  readonly execute?: ((input: any, options: any) => unknown) | undefined;
  /** Whether a call asks a person, always or by its arguments. The policy and the hints may ask about others. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly needsApproval?: boolean | ((input: any, options: any) => boolean | PromiseLike<boolean>) | undefined;
}

export type AiSdkTools = Readonly<Record<string, AiSdkTool>>;

/** What the SDK tells a tool. */
interface ExecuteOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
}

/** What the core must know of the tools before a turn. */
export const knownTools = (tools: AiSdkTools, hints: Readonly<Record<string, ToolHints>>): readonly KnownTool[] =>
  Object.entries(tools)
    .filter(([, { type }]) => !isOfProvider(type))
    .map(([name, { execute, needsApproval }]) => ({
      name,
      external: execute === undefined,
      ...(needsApproval === undefined || needsApproval === false ? {} : { ask: true }),
      ...hints[name],
    }));

/** The same tools, for one session. Those that the application or the provider runs stay as they are. */
export const durableTools = <T extends AiSdkTools>(tools: T, core: Durable): T =>
  Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [
      name,
      tool.execute === undefined || isOfProvider(tool.type) ? tool : durableTool(name, tool, core),
    ]),
  ) as T;

const isOfProvider = (type: string | undefined): boolean => type === 'provider' || type === 'provider-defined';

function durableTool(name: string, tool: AiSdkTool, core: Durable): AiSdkTool {
  const { needsApproval, ...rest } = tool;
  async function execute(input: unknown, options: ExecuteOptions): Promise<unknown> {
    const text = await core.call({
      id: options.toolCallId,
      tool: name,
      given: input,
      read: (args) => readInput(tool.inputSchema, args),
      signal: options.abortSignal,
      run: (args, { signal }) => lastOf(tool.execute?.(args, { ...options, abortSignal: signal })),
      ...(typeof needsApproval === 'function' ? { asks: async (args) => await needsApproval(args, options) } : {}),
    });
    return resultOfText(text);
  }
  return { ...rest, execute };
}

/** A tool may give preliminary results; the last one counts. */
async function lastOf(given: unknown): Promise<unknown> {
  const isStream = typeof given === 'object' && given !== null && Symbol.asyncIterator in given;
  if (!isStream) return await given;
  let last: unknown;
  for await (const value of given as AsyncIterable<unknown>) last = value;
  return last;
}

// Runs one call of a tool: reads the arguments, calls the function, and makes a report of what it returns. The bridge bounds
// the time of it, and reports what is thrown.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type CallReport, failedReport } from '../../bridge/index.ts';
import { type Json, checkJson, isPlainObject, limits } from '../../schemas/index.ts';
import { type StandardSchema, describeIssues, isStandardSchema } from './standard-schema.ts';

/** What a tool is told about the call that it runs. */
export interface ToolContext {
  /** Aborts when the call is cancelled or its time is over: stop, and return soon. */
  readonly signal: AbortSignal;
  /** How long the call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The session that calls. */
  readonly session: string;
  /** Unique in its turn. A call of a repeatable tool keeps it when it runs again. */
  readonly call: string;
}

interface Runnable {
  /** A Standard Schema checks the arguments; a JSON Schema was checked by the engine. */
  readonly input: unknown;
  readonly output: StandardSchema | undefined;
  readonly run: (args: unknown, context: ToolContext) => unknown;
}

export async function runTool(
  { input, output, run }: Runnable,
  args: unknown,
  context: ToolContext,
): Promise<CallReport> {
  const read = isStandardSchema(input) ? await input['~standard'].validate(args) : { value: args };
  if (read.issues !== undefined) return failedReport('tool_invalid_args', describeIssues(read.issues));
  const returned = await run(read.value, context);
  if (output === undefined) return reportOf(returned);
  const checked = await output['~standard'].validate(returned);
  return checked.issues === undefined ? reportOf(checked.value) : unfit(describeIssues(checked.issues));
}

/** A text is what the model reads; any other value is read as JSON. */
function reportOf(returned: unknown): CallReport {
  if (returned === undefined) return { success: true, text: '' };
  if (typeof returned === 'string') return { success: true, text: returned.toWellFormed() };
  const checked = checkJson(withoutUndefined(returned, 0));
  if (isLeft(checked)) return unfit(`at "${checked.left.path}" ${checked.left.message}`);
  const value: Json = checked.right;
  return { success: true, text: JSON.stringify(value), ...(isPlainObject(value) ? { data: value } : {}) };
}

/** The tool may have done its work: the model must not take the failure for one that changed nothing. */
const unfit = (why: string): CallReport =>
  failedReport(
    'invalid_output',
    `the tool ran, but its result cannot be read: ${why}. It may have had its effect: check before you call it again.`,
  );

/** Optional fields that are undefined count as absent, as in JSON text. What is too deep is refused afterwards. */
function withoutUndefined(value: unknown, depth: number): unknown {
  if (depth > limits.JSON_DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutUndefined(item, depth + 1));
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutUndefined(field, depth + 1)]));
}

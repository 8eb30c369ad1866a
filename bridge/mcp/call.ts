// One call of an MCP tool: the request, its end by cancellation or time, and what the server answers. Progress of a server moves no
// limit. What the server or the SDK throws becomes a failure with a stable code, which the model reads.
import type { CallToolResult, Client, InputRequiredResult, Tool } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../schemas/json.ts';
import type { McpTool } from '../../src/toolsets/mcp-tools.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { CallContext } from '../executors/executors.ts';
import { clip, messageOf } from '../log.ts';
import { SignInRequired } from './oauth/stored-login.ts';

export type CallAnswer = CallToolResult | InputRequiredResult;

/** What goes with a request beside the arguments. */
export type CallExtras = Readonly<Record<string, unknown>>;

/** Rejects as the SDK does. */
export function callTool(
  client: Client,
  { name, definition }: McpTool,
  { args, extras, context }: { readonly args: JsonObject; readonly extras: CallExtras; readonly context: CallContext },
): Promise<CallAnswer> {
  const params = { name, arguments: args, ...extras };
  // The SDK mirrors arguments in headers as the definition says (MCP 2026-07-28, "x-mcp-header"). It does not hold results against
  // the output schema: that is done on a thread.
  const { outputSchema: _, ...said } = JSON.parse(definition) as Tool;
  // A call that waits for a person may take longer than a request; its own time and its signal end it.
  const options = { signal: context.signal, timeout: CALL_TIMEOUT, allowInputRequired: true, toolDefinition: said };
  return client.callTool(params, options);
}

/** The longest delay of a timer: the bridge itself stops a call that takes too long. */
const CALL_TIMEOUT = 2_147_483_647;

/** The report of a call that the server did not answer with a result. */
export function reportOfError(error: unknown): CallReport {
  const message = clip(messageOf(error));
  if (error instanceof SignInRequired) return failed('sign_in_required', message);
  const code = codeOf(error);
  // The connection ended: nothing is known of the outcome, and the server is started again. A repeatable call is made again.
  if (code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED')
    return { ...failed('server_unavailable', `the server ended during the call: ${message}`), retryable: true };
  if (code === 'INVALID_RESULT' || code === 'UNSUPPORTED_RESULT_TYPE') return failed('invalid_output', message);
  if (typeof code === 'number') return failed('server_refused', `the server answered ${code}: ${message}`);
  return failed('server_failed', message);
}

const failed = (code: string, message: string): CallReport => ({ ...failedReport(code, message), needsFollowup: true });

function codeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return null;
  if ('code' in error) return error.code;
  // The SDK says so without a code when the connection was closed before the request.
  return error instanceof Error && error.message === 'Not connected' ? 'NOT_CONNECTED' : null;
}

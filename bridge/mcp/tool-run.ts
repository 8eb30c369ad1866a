// Runs one call of a tool to its end, however often the server asks or makes it wait: input that it needs ends the attempt with a
// question, whose answer the next one brings; a task is noted before it is waited for, and waited for again by whoever has the note.
// The question of a task ends the attempt as well, so that it outlives the bridge; the task goes on meanwhile.
import type { Client } from '@modelcontextprotocol/client';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { ElicitationAnswer } from '../../schemas/elicitation.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../schemas/json.ts';
import { MCP_ROUNDS_MAX } from '../../schemas/limits.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import type { McpTool } from '../../src/toolsets/mcp-tools.ts';
import type { CallAsk } from '../executors/call-ask.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { CallContext } from '../executors/executors.ts';
import { stopReasonOf } from '../executors/stop-switch.ts';
import { type CallExtras, callTool, reportOfError } from './call.ts';
import { questionOfRequests, responsesOf } from './questions.ts';
import { rawOf } from './raw-results.ts';
import { reportOf } from './result.ts';
import type { SchemaThread } from './schema-thread.ts';
import type { Server } from './server.ts';
import {
  type TaskHandle,
  cancelTask,
  handleNoted,
  handleOf,
  noteOf,
  taskResult,
  taskState,
  updateTask,
} from './task.ts';

export interface ToolRun {
  readonly server: Server;
  readonly tool: McpTool;
  readonly args: JsonObject;
  readonly context: CallContext;
  readonly schemas: SchemaThread;
  readonly clock: BridgeClock;
}

export async function runMcpTool(run: ToolRun): Promise<CallReport | CallAsk> {
  try {
    const left = leftBy(run);
    const note = left?.task ?? run.context.resume?.handle;
    const noted = note === undefined ? null : handleNoted(note);
    if (noted !== null) return await waitFor(run, noted, left);
    return await callOnce(run, extrasOf(run, left));
  } catch (error) {
    return reportOfError(error);
  }
}

/** What the next attempt needs of this one. */
interface LeftState {
  readonly keys: readonly string[];
  readonly requestState: string | null;
  /** The note of the task that asked. */
  readonly task?: string;
}

/** What the attempt before asked, with the answer of a person. */
interface Left extends LeftState {
  readonly answer: ElicitationAnswer;
}

function leftBy({ context: { resume } }: ToolRun): Left | null {
  const parsed = resume?.state === undefined ? null : parseJson(resume.state);
  if (parsed === null || isLeft(parsed) || resume?.answer === undefined) return null;
  return { ...(parsed.right as unknown as LeftState), answer: resume.answer };
}

/** The answer to what the attempt before asked, and the state that goes with it. */
function extrasOf({ tool, server }: ToolRun, left: Left | null): CallExtras {
  const task = wantsTask(tool, server) ? { task: {} } : {};
  if (left === null) return task;
  const { keys, requestState, answer } = left;
  return {
    ...task,
    inputResponses: responsesOf(keys, answer),
    ...(requestState === null ? {} : { requestState }),
  };
}

/** A server of 2025-11-25 makes a task only where it is asked for one. */
function wantsTask({ definition }: McpTool, server: Server): boolean {
  const connection = server.connection();
  if ('why' in connection || connection.client.getProtocolEra() !== 'legacy') return false;
  const { execution } = JSON.parse(definition) as JsonObject;
  const support = isPlainObject(execution) ? execution['taskSupport'] : null;
  return support === 'required' || support === 'optional';
}

async function callOnce(run: ToolRun, first: CallExtras): Promise<CallReport | CallAsk> {
  const { server, tool, args, context, schemas } = run;
  let extras = first;
  for (let round = 0; round < MCP_ROUNDS_MAX; round += 1) {
    const connection = server.connection();
    if ('why' in connection) return failedReport('server_unavailable', connection.why);
    const answer = await callTool(connection.client, tool, { args, extras, context });
    const raw = rawOf(answer);
    if (raw !== null) return await waitForNew(run, raw);
    if (answer['resultType'] !== 'input_required')
      return await reportOf(answer, tool.outputSchema, { context, schemas, redactor: server.redactor() });
    const { inputRequests, requestState } = answer;
    const state = typeof requestState === 'string' ? requestState : null;
    const requests = isPlainObject(inputRequests) ? inputRequests : {};
    const keys = Object.keys(requests);
    if (keys.length > 0) return asked(run, requests, { keys, requestState: state });
    // Nothing is asked: the server only wants to be called again (MCP 2026-07-28, "Multi round-trip requests").
    extras = state === null ? {} : { requestState: state };
  }
  return failedReport('server_refused', `the server asked to be called again more than ${MCP_ROUNDS_MAX} times`);
}

function asked(
  { server }: ToolRun,
  requests: Readonly<Record<string, unknown>>,
  state: LeftState,
): CallReport | CallAsk {
  const question = questionOfRequests(requests, server.settings.title);
  if (isLeft(question))
    return failedReport('server_refused', `the server cannot be given what it asks for: ${question.left}`);
  return { ask: question.right, state: JSON.stringify(state) };
}

async function waitForNew(run: ToolRun, raw: Readonly<Record<string, unknown>>): Promise<CallReport | CallAsk> {
  const handle = handleOf(raw);
  if (handle === null) return failedReport('invalid_output', 'the server made a task whose id cannot be noted');
  const note = noteOf(handle);
  // On record before it is waited for: if this bridge is lost, the next one waits for the same task. No secret goes there.
  if (run.server.redactor().text(note) === note) await run.context.note?.(note);
  return await waitFor(run, handle, null);
}

/** `left`: what the task asked in the attempt before. */
async function waitFor(run: ToolRun, handle: TaskHandle, left: Left | null): Promise<CallReport | CallAsk> {
  const { server, context, clock } = run;
  const { signal } = context;
  while (!signal.aborted) {
    const connection = server.connection();
    if ('why' in connection) {
      // A server that is started again may know its tasks still. The time of the call bounds this wait.
      await sleep(clock, WAIT_FOR_SERVER_MS, signal);
      continue;
    }
    try {
      const ended = await lookAt(run, handle, { client: connection.client, left });
      if (ended !== null) return ended;
    } catch (error) {
      if (signal.aborted) break;
      const report = reportOfError(error);
      if (report.code !== 'server_unavailable') return report;
      // The connection may not be known to have ended yet.
      await sleep(clock, WAIT_FOR_SERVER_MS, signal);
    }
  }
  const why = stopReasonOf(signal);
  const connection = server.connection();
  // A bridge that stops leaves the task to the next one.
  if ((why === 'cancelled' || why === 'timeout') && 'client' in connection)
    await cancelTask(connection.client, handle).catch(() => null);
  return failedReport('cancelled', 'the call was stopped while the server worked on it');
}

/** How often a call that was noted looks whether its server is there again, in milliseconds. */
export const WAIT_FOR_SERVER_MS = 250;

interface Look {
  readonly client: Client;
  readonly left: Left | null;
}

/** Null while the task goes on; then it has waited before it returns. */
async function lookAt(run: ToolRun, handle: TaskHandle, { client, left }: Look): Promise<CallReport | CallAsk | null> {
  const { server, tool, context, schemas, clock } = run;
  const { status, pollMs, said } = await taskState(client, handle, context.signal);
  if (status === 'failed' || status === 'cancelled') return ofTask(status, said);
  const resultOf = (result: unknown) =>
    reportOf(isPlainObject(result) ? result : {}, tool.outputSchema, {
      context,
      schemas,
      redactor: server.redactor(),
    });
  if (handle.form === 'extension') {
    if (status === 'completed') return await resultOf(said['result']);
    if (status === 'input_required') {
      const { inputRequests } = said;
      const requests = isPlainObject(inputRequests) ? inputRequests : {};
      const keys = Object.keys(requests);
      // The keys of a task are never used again, so this is what the attempt before asked, and not the next question.
      if (left === null || !isSameList(keys, left.keys))
        return asked(run, requests, { keys, requestState: null, task: noteOf(handle) });
      await updateTask(client, handle, responsesOf(keys, left.answer), context.signal);
    }
  } else if (status !== 'working') return await resultOf(await taskResult(client, handle, context.signal));
  await sleep(clock, pollMs, context.signal);
  return null;
}

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((key, index) => key === b[index]);

function ofTask(
  status: 'failed' | 'cancelled',
  { error, statusMessage }: Readonly<Record<string, unknown>>,
): CallReport {
  const said = isPlainObject(error) ? error['message'] : statusMessage;
  const message = typeof said === 'string' ? said.slice(0, 1_024).toWellFormed() : 'the server did not say why';
  return { ...failedReport(`task_${status}`, message), needsFollowup: true };
}

// The answers of tools that a recorded log holds, by tool and arguments.
import { readFile, stat } from 'node:fs/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestJson } from '../../schemas/canonical.ts';
import { isInline } from '../../schemas/content.ts';
import type { Digest, ToolId } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { AUDIT_FILE_BYTES_MAX, BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { type StreamRecord, decodeStreamRecord } from '../../schemas/record.ts';
import type { HostSessionFacts } from '../../schemas/tool-set.ts';
import { type CallResult, type FoldedEvent, newReplayer, newRunResults } from '../../src/core/index.ts';
import { type CallReport, failedReport } from './call-report.ts';
import { OPEN_TOOL } from './open-host-session.ts';

/** The answers to the same call, in the order in which the calls were made. */
export type RecordedAnswers = ReadonlyMap<string, readonly CallReport[]>;

export const answerKey = (tool: string, args: Digest): string => `${tool} ${args}`;

/** Reads a blob that the export refers to. */
export type ReadBlob = (ref: Digest) => Promise<Uint8Array>;

export interface Recording {
  /** The tools with an answer, sorted. */
  readonly tools: readonly ToolId[];
  readonly answers: RecordedAnswers;
}

/** Throws an Error that names the line, or the position, at which the file is not an export that folds as recorded. */
export async function readAnswers(file: string, readBlob?: ReadBlob): Promise<Recording> {
  const results = newRunResults();
  const facts = new Map<string, HostSessionFacts>();
  const openings: CallReport[] = [];
  const replayer = newReplayer((folded) => {
    results.add(folded);
    noteFacts(folded, facts);
    openings.push(...openingIn(folded));
  });
  for (const record of await recordsIn(file)) replayer.add(record);
  const { divergence } = replayer.result();
  if (divergence !== null) {
    throw new Error(`${file} does not fold as recorded, position ${divergence.position}: ${divergence.message}`);
  }
  const answers = new Map<string, CallReport[]>();
  const tools = new Set<ToolId>();
  const add = (tool: ToolId, args: Digest, report: CallReport): void => {
    tools.add(tool);
    const key = answerKey(tool, args);
    answers.set(key, [...(answers.get(key) ?? []), report]);
  };
  for (const opening of openings) add(OPEN_TOOL as ToolId, NO_ARGUMENTS, opening);
  for (const result of results.result()) {
    const { batch_id, call, tool_id, arguments_digest } = result;
    const report = await reportOf(result, facts.get(`${batch_id} ${call.call_id}`), readBlob);
    if (report !== null && tool_id !== null && arguments_digest !== null) add(tool_id, arguments_digest, report);
  }
  return { tools: [...tools].sort(), answers };
}

const NO_ARGUMENTS = digestJson({});

async function recordsIn(file: string): Promise<readonly StreamRecord[]> {
  const { size } = await stat(file);
  if (size > AUDIT_FILE_BYTES_MAX) {
    throw new Error(`${file} has ${size} bytes; at most ${AUDIT_FILE_BYTES_MAX} are read. Record a shorter session`);
  }
  // Only a line feed ends a line: JSON may contain other line separators.
  const lines = (await readFile(file, 'utf8')).split('\n');
  return lines.flatMap((line, index) => (line.trim() === '' ? [] : [recordOf(line, `${file}, line ${index + 1}`)]));
}

function recordOf(line: string, at: string): StreamRecord {
  const parsed = parseJson(line, BLOB_BYTES_MAX);
  const record = isLeft(parsed) ? parsed : decodeStreamRecord(parsed.right);
  if (isLeft(record)) throw new Error(`${at}: ${record.left.message} (${record.left.code} at "${record.left.path}")`);
  return record.right;
}

/** Remembers what a call told about its host session, which its result does not say. */
function noteFacts({ event }: FoldedEvent, sessions: Map<string, HostSessionFacts>): void {
  if (event.kind !== 'ToolCallSettled' || event.host_session === undefined) return;
  sessions.set(`${event.batch_id} ${event.call_id}`, lasting(event.host_session));
}

/** The answer to the effect that opens a host session; none for any other event. */
function openingIn({ event, before }: FoldedEvent): readonly CallReport[] {
  if (event.kind !== 'HostSessionUpdated' || before.run?.phase !== 'opening') return [];
  const { host_session, detail } = event;
  if (host_session.host_session_status !== 'ready')
    return [failedReport('host_session_failed', detail ?? 'not opened')];
  return [{ success: true, text: 'the recorded host session is open', host_session: lasting(host_session) }];
}

/** The time at which a recorded session expired is over. */
function lasting({ expires_at_ms: _past, ...facts }: HostSessionFacts): HostSessionFacts {
  return facts;
}

/** The report that was recorded of a call; null when it has none of its own, or when its text cannot be read. */
async function reportOf(
  { status, code, output, result, shares }: CallResult,
  host_session: HostSessionFacts | undefined,
  readBlob: ReadBlob | undefined,
): Promise<CallReport | null> {
  if (shares !== null || result === null || output === null) return null;
  if (status !== 'succeeded' && status !== 'failed') return null;
  if (!isInline(output) && readBlob === undefined) return null;
  const text = isInline(output) ? output.text : new TextDecoder().decode(await readBlob?.(output.ref));
  return { ...toldBy(result, text, code), ...(host_session === undefined ? {} : { host_session }) };
}

function toldBy(
  { success, terminal, needsFollowup, nextAction, message, data }: NonNullable<CallResult['result']>,
  text: string,
  code: string | null,
): CallReport {
  return {
    success,
    text,
    ...(code === null || success ? {} : { code }),
    ...(terminal === undefined ? {} : { terminal }),
    ...(needsFollowup === undefined ? {} : { needsFollowup }),
    ...(nextAction === undefined ? {} : { nextAction }),
    ...(message === undefined ? {} : { message }),
    ...(data === undefined ? {} : { data }),
  };
}

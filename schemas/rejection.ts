// Rejections: invalid or untimely input, as data (docs/design.md, "Settled questions"). The codes are stable and part of
// the API.

/** Every code, with its meaning and, after it, what to do next. */
export const REJECTIONS = {
  malformed_json: 'The text is not JSON. Send one JSON document, UTF-8.',
  too_large: 'The input exceeds a named limit. Send less, or put large text into a blob first.',
  too_deep: 'The input is nested too deeply. Flatten it.',
  duplicate_key: 'An object gives one key twice. Keep one of them.',
  invalid_value: 'A value is outside the JSON value domain. Correct the value at the path.',
  invalid_shape: 'A field is missing, unknown or of the wrong type. Correct the field at the path.',
  unknown_kind: 'There is no event of this kind. Use a kind of the ingress union.',
  unknown_session: 'There is no such session. List the sessions, or create it.',
  session_exists: 'A session with this id exists already. Choose another id.',
  session_deleted: 'The session was deleted, and its id stays taken. Use another id.',
  session_busy: 'The session has work, so it cannot be deleted. When nothing runs or is to be undone, delete it.',
  position_unknown: 'The stream does not reach that position. Read its version.',
  version_conflict: 'The session is not at the expected version. Read it again and decide again.',
  event_id_reused: 'Another event is recorded under this event id. Send this one under a new id.',
  queue_full: 'Too many requests wait. Try again later.',
  too_many_active_sessions:
    'The engine has as many active sessions as it accepts. Finish or interrupt some, then try again.',
  storage_failed: 'The journal did not accept the write, and nothing was recorded. Check the disk and try again.',
  storage_full: 'The disk is full, and nothing was recorded. Free some space and try again; no restart is needed.',
  uploads_full:
    'Too many bytes were put that no event names. Name them in events; `refold gc` deletes those of unfinished uploads.',
  internal:
    'The engine met a fault of its own. Read what is recorded before you send the request again, and report the fault.',
  in_use: 'Another process has it open, and only one process may. Use that process through the client, or stop it.',
  not_owner: 'Another engine owns the session now. Ask that engine, or read the session again.',
  storage_unknown: 'The journal did not answer. Look up the event id before you send the event again.',
  damaged: 'The stored stream does not verify. Restore it from an export or a backup.',
  outdated: 'It is older than this release reads. Use the release that made it, or start anew.',
  unauthorized:
    'The bearer token is missing or wrong. Send the token of the engine; `serve` keeps it in its data directory.',
  forbidden: 'This host must not do that. Use a name of the engine, and no web page but its own.',
  forbidden_scope: 'The scope of the token does not allow this. Use a token of the scope that the message names.',
  not_found: 'There is nothing at this address. Correct the path or the method.',
  unknown_blob: 'There is no blob of this digest. Put it first.',
  content_mismatch:
    'The reference does not describe its blob. Take size, head and tail from the text of the blob, or leave head and tail empty.',
  digest_mismatch: 'The digest is not that of the bytes. Compute it again and send both.',
  checkpoint_invalid: 'The signature does not fit the checkpoint. Use the original checkpoint and the trusted key.',
  key_invalid: 'The key cannot be used. Create one: refold checkpoint --new-key FILE',
  closing: 'The engine is closing. Connect again when it is back.',

  rules_unknown: 'This version of refold does not know the rules. Update refold to the version that the message names.',
  rules_not_newer: 'The session has these rules or later ones already. Rules only move upwards.',
  run_already_active: 'A run is active. Steer it, queue a follow-up, or end it first.',
  run_not_active: 'No run is active. Request one; drop a report on a run that has ended.',
  wrong_run: 'Another run is active. Read the session, and drop a report on a run that has ended.',
  wrong_turn: 'The run is at another turn; the report is late or repeated. Drop it, and lease what is owed now.',
  wrong_page: 'The compaction ends with another page; the report is late. Drop it, and lease what is owed now.',
  wrong_phase: 'The run is in a phase that does not allow this. Read the session and decide again.',
  provider_missing: 'The run names no provider. Set one in the config of the session or of the run.',
  model_missing: 'The run names no model. Set one in the config of the session or of the run.',
  batch_open: 'A batch is open. Settle it first.',
  batch_not_active: 'No batch is open. Drop the report: the batch is settled already.',
  wrong_batch: 'Another batch is open; the report is late or misdirected. Drop it, and lease what is owed now.',
  batch_not_settled: 'Some calls of the batch are not terminal yet. Settle them first.',
  results_mismatch: 'The digest is not that of the results of the batch. Leave it out: the engine computes it.',
  measured_wrong:
    'The record says otherwise than what is measured of it, so no engine wrote it so. Ask for the original export.',
  ending_mismatch: 'The event does not say which runs it ends. Only recorded events say it: restore the original.',
  unknown_call: 'The batch has no such call. Read the calls of the session again.',
  call_not_queued: 'The call is not queued. Do not run it: another bridge runs it, or it is terminal.',
  call_already_settled: 'The call has a result already, and a result is final. Drop the report.',
  call_not_ready:
    'The call waits for other calls, or for the time of its next attempt. Keep the report and send it again then.',
  call_not_started:
    'A call that is not read-only settles only after its start is recorded. Report ToolCallStarted first.',
  other_place:
    'The session runs its calls in another place. Report yours with HostSessionUpdated, and then the start again.',
  stale_attempt: 'The report belongs to an earlier attempt. Drop it.',
  lease_required:
    'The report does not say under which lease it is made. Lease the effect, and name the owner and, under leases, its epoch.',
  stale_lease: 'The lease was lost; another owner may hold it now. Stop this work and lease again.',
  not_confirmable: 'The call does not wait for a confirmation. Read the pending calls again.',
  not_answerable: 'The call does not wait for a person to fulfil it. Read the pending calls again.',
  waits_for_person: 'The call waits for a person. Wait for the answer: nothing else may start or settle it.',
  shares_result: 'The call shares the result of an earlier call. Report that call.',
  arguments_mismatch: 'The digest is not that of the arguments of the call. Read the call again before you answer.',
  preview_not_owed:
    'No preview of the call is owed: it has one, it was answered, its time is over, or its tool makes none. Drop the report.',
  preview_mismatch:
    'The answer names another preview than the call has. Read the question again, and name the preview that it shows, or none.',
  question_open: 'The call has an open question. Wait for its answer: one question is open at a time.',
  question_not_open: 'No question of the call is open. Read the pending questions again.',
  question_mismatch: 'The answer names another question than the one that is open. Read the question, and answer that.',
  question_invalid: 'The question cannot be put to a person. Correct it at the path, or settle the call.',
  questions_exhausted: 'The call has asked as often as a call may. Settle it.',
  call_not_running: 'The call does not run, or is being stopped. Drop the report, and end the work.',
  answer_invalid: 'The answer does not fit the question. Correct the value at the path; only accept has content.',
  grant_invalid:
    'The grant cannot be given. Give it with the result allow, and name an argument and a pattern, or neither.',
  grants_full: 'The session cannot hold more grants. Set its policy instead.',
  amendment_invalid:
    'The call with other arguments cannot be made. Deny this one; give the same tool, a new call id and arguments that fit its schema.',
  result_invalid:
    'The result does not fit the output schema of the tool. Correct the value at the path and answer again.',
  plan_mismatch: 'The plan digest is not that of the recorded plan. Do not run the call; lease it again with its plan.',
  inconsistent_result: 'The outcome and the result contradict each other. Correct one of them.',

  registry_invalid: 'The tool registry is not valid. Correct the value at the path.',
  profile_unknown: 'There is no such tool profile. Choose one of the session, or add it with the registry first.',
  tool_unknown: 'There is no such tool in the registry. Correct its id, or register it first.',
  catalog_invalid:
    'The catalog has faults, so the one before stays in force. Correct them, and reload it: refold catalog check lists all.',
  toolset_owned:
    'Another owner sets this toolset. Use another name, or have an operator remove the toolset first: refold toolsets remove',
  toolset_unknown: 'The session has no such toolset. List them: refold toolsets SESSION',
  toolsets_full:
    'The session cannot hold more toolsets, or more tools. Offer fewer, or remove a toolset that is not used.',
  definition_mismatch:
    'The tool has another definition now than the one that is approved. Read it again, and approve what it says.',
  steer_queue_full: 'Too many steering messages wait. Send more when the next turn has taken them.',
  follow_up_queue_full: 'Too many follow-up runs wait. Queue more when one of them has started.',
  time_not_due: 'Nothing is due at this time. Drop the report: the engine reports times itself.',

  nothing_to_undo: 'The call recorded no changes of files. Read its result, and change the files with a new call.',
  undo_not_kept: 'The content of a file before the call was not kept. Restore it from elsewhere and the rest by hand.',
  already_undone: 'The files of this call were put back already. Nothing is left to do.',
  undo_pending: 'An undo of this call waits already. Start a bridge in its workspace, and follow the session.',
  undo_queue_full: 'Too many undos wait. Start a bridge in the workspace of the session.',
  undo_not_pending: 'No such undo waits; it has its answer already, or was never requested. Drop the report.',
  other_workspace: 'The call changed files of another workspace. Undo it there, or name the directory as the call did.',
  write_running: 'A call that may write is running. Wait until it has settled, or cancel the run first.',
} as const;

export type RejectionCode = keyof typeof REJECTIONS;

/** Refused input: nothing was recorded, and state is unchanged. `path` is a JSON Pointer into the input. */
export interface Rejection {
  readonly code: RejectionCode;
  readonly path: string;
  readonly message: string;
}

export const reject = (code: RejectionCode, path: string, message: string): Rejection => ({ code, path, message });

/** A defect of refold: thrown, never returned as data. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws an {@link InvariantError} when `condition` does not hold. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Ends an exhaustive branch: a compile error when a case is missing, an invariant error at run time. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}

/** One segment of a JSON Pointer (RFC 6901, section 3): the paths of faults are made of them. */
export const pointerSegment = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

// Rejections: bad or untimely input, as data (DESIGN section 8). The codes are stable and part of the contract.

/** Every code a caller may see, with what it means and what to do next. */
export const REJECTIONS = {
  malformed_json: 'The text is not JSON. Send one JSON document, UTF-8.',
  too_large: 'The input exceeds a named limit. Send less, or put large text into a blob first.',
  too_deep: 'The input is nested too deeply. Flatten it.',
  duplicate_key: 'An object gives one key twice. Keep one of them.',
  invalid_value: 'A value lies outside the JSON value domain. Look at the path.',
  invalid_shape: 'A field is missing, unknown or of the wrong type. Look at the path.',
  unknown_kind: 'There is no event of this kind. See the ingress union.',
  unknown_session: 'There is no such session. List the sessions, or create it.',
  session_exists: 'A session of this id exists already. Choose another id.',
  position_unknown: 'The stream does not reach that far. Look at its version.',
  version_conflict: 'The session is not at the expected version. Read it again and decide again.',
  event_id_reused: 'Another fact is on record under this event id. Send this one under an id of its own.',
  queue_full: 'Too many requests wait. Try again later.',
  too_many_at_work: 'The engine has as many sessions at work as it takes. Finish or interrupt some, then try again.',
  storage_failed: 'The journal did not accept the write. Nothing was recorded; look at the disk and try again.',
  storage_full: 'The disk is full. Nothing was recorded; free some space and try again, without a restart.',
  in_use: 'One process at a time may have it open. Reach that one through the client, or stop it first.',
  storage_unknown: 'The journal did not answer. Look the event id up before you send it again.',
  damaged: 'The stored stream does not verify. Restore it from an export or a backup.',
  unauthorized: 'The bearer token is missing or wrong.',
  forbidden: 'This host or token may not do that.',
  not_found: 'There is nothing at this address.',
  unknown_blob: 'There is no blob of this digest. Put it first.',
  digest_mismatch: 'The bytes do not have the digest they were sent with.',
  checkpoint_invalid: 'The checkpoint is not what was signed. Take the one that was kept, and the key that is trusted.',
  key_invalid: 'The key cannot be used. Make one: refold checkpoint --new-key FILE',
  closing: 'The engine is closing. Connect again once it is back.',

  run_already_active: 'A run is active. Steer it, queue a follow-up, or end it first.',
  run_not_active: 'No run is active, so this changes nothing.',
  wrong_run: 'Another run is active.',
  wrong_turn: 'The run is at another turn: the report is late or repeated.',
  wrong_phase: 'The run is in a phase that does not allow this.',
  provider_missing: 'The run names no provider.',
  model_missing: 'The run names no model.',
  batch_open: 'A batch is open. Settle it first.',
  batch_not_active: 'No batch is open, so there is nothing to settle.',
  wrong_batch: 'Another batch is open: the report is late or misdirected.',
  batch_not_settled: 'Some calls of the batch are not terminal yet.',
  unknown_call: 'The batch has no such call.',
  call_not_queued: 'The call is not waiting to be started.',
  call_already_settled: 'The call has its result already; the first one stands.',
  call_not_ready: 'The call waits for calls that are not settled yet.',
  stale_attempt: 'The report belongs to an attempt that was given up.',
  stale_lease: 'The lease was lost; somebody else may hold it now.',
  not_confirmable: 'The call does not wait for a confirmation. Read what is pending again.',
  not_answerable: 'The call does not wait for a person to fulfil it. Read what is pending again.',
  waits_for_person: 'The call waits for a person. Nothing else may start or settle it.',
  shares_result: 'The call shares the result of an earlier one. Report that one.',
  arguments_mismatch: 'The digest is not that of the arguments of the call. Look at the call again before you answer.',
  grant_invalid: 'A grant goes with an allowance, and names an argument together with a pattern.',
  grants_full: 'The session remembers no more grants. Set its policy instead.',
  amendment_invalid:
    'Other arguments go with a denial, for the same tool, under a new call id, and must fit its schema.',
  result_invalid: 'The result does not fit the output schema of the tool. Look at the path and answer again.',
  plan_mismatch: 'The plan digest is not that of the recorded plan.',
  inconsistent_result: 'Outcome and result contradict each other.',

  registry_invalid: 'The tool registry is not valid. Look at the path.',
  profile_unknown: 'There is no such tool profile.',
  tool_unknown: 'There is no such tool in the registry.',
  steer_queue_full: 'Too many steering messages wait.',
  follow_up_queue_full: 'Too many follow-up runs wait.',
  time_not_due: 'Nothing is due at this time.',

  nothing_to_undo: 'The call recorded no changes of files. Look at its result, and change the files by a new call.',
  undo_not_kept: 'What stood in a file before was not kept. Restore it from elsewhere, and change the rest by hand.',
  already_undone: 'The files of this call were put back already.',
  undo_pending: 'An undo of this call waits already. Start a bridge in its workspace, and follow the session.',
  undo_queue_full: 'Too many undos wait. Start a bridge in the workspace of the session.',
  undo_not_pending: 'No such undo waits: it was answered already, or never asked for.',
  write_running: 'A call that may write is running. Wait until it has settled, or cancel the run first.',
} as const;

export type RejectionCode = keyof typeof REJECTIONS;

/** Input refused: nothing was recorded and state is as before. `path` is a JSON Pointer into the input. */
export interface Rejection {
  readonly code: RejectionCode;
  readonly path: string;
  readonly message: string;
}

export const reject = (code: RejectionCode, path: string, message: string): Rejection => ({ code, path, message });

/** A fault of ours: loud, never data. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws an {@link InvariantError} when `condition` does not hold. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** The end of an exhaustive branch: a compile error when a case is missing, an invariant error at run time. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}

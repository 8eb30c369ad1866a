// Admission of answers by people: an answer must name the open batch, a call that waits for this kind of answer, and the
// digest of the arguments the person saw (docs/design.md, law 9). Every other answer is refused. And of previews, which people
// see before they answer: one is owed once, for a call that waits for a person, from the place where the call would run.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventOfKind } from '../schemas/event.ts';
import { AMENDED_MAX, GRANTS_MAX, PREVIEW_PATHS_CHARS_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../schemas/state.ts';
import { grantGiven } from './answers.ts';
import { alreadySettled, findCall, findDigestFault, whyRejected } from './batch-admission.ts';
import { plannedOf } from './batch-index.ts';
import { isTerminal } from './call-status.ts';
import { isElsewhere } from './host-session.ts';
import { openWaitsIn } from './waits.ts';

type Confirmation = EventOfKind<'user.tool_confirmation'>;
type CustomResult = EventOfKind<'user.custom_tool_result'>;
type Previewed = EventOfKind<'CallPreviewed'>;

export function admitConfirmation(state: SessionState, event: Confirmation): Rejection | null {
  const found = findCall(state, event);
  if (isLeft(found)) return found.left;
  const call = found.right;
  if (call.status !== 'waiting') {
    return reject('not_confirmable', '/call_id', `the call is ${call.status}, not waiting${whyRejected(call)}`);
  }
  if (call.question !== undefined) {
    return reject('not_confirmable', '/call_id', 'the call waits for the answer to its own question; it runs already');
  }
  return (
    findDigestFault(state, event) ??
    findPreviewFault(call, event) ??
    findGrantFault(state, event) ??
    findAmendmentFault(state, event)
  );
}

export function admitCustomResult(state: SessionState, event: CustomResult): Rejection | null {
  const found = findCall(state, event);
  if (isLeft(found)) return found.left;
  const { status } = found.right;
  const batch = state.active_tool_batch as ActiveToolBatch;
  if (isTerminal(status)) return alreadySettled(found.right);
  if (status === 'waiting')
    return reject(
      'waits_for_person',
      '/call_id',
      'the call waits for a confirmation first; confirm it, then answer it',
    );
  const planned = plannedOf(batch.plan, event.call_id)?.call;
  if (planned?.executor.kind !== 'custom' || status !== 'queued') {
    return reject('not_answerable', '/call_id', 'a bridge runs this call, not a person');
  }
  if (planned.shares !== undefined) {
    return reject('shares_result', '/call_id', `the call shares the result of "${planned.shares}"; answer that call`);
  }
  const [open] = openWaitsIn(batch, event.call_id);
  if (open !== undefined) return reject('call_not_ready', '/call_id', `the call waits for "${open}" to settle`);
  const verdict = event.output_verdict;
  if (verdict?.valid === false) {
    return reject('result_invalid', `/result/data${verdict.path ?? ''}`, verdict.message ?? 'it does not fit');
  }
  return findDigestFault(state, event);
}

/** An answer may name the preview that the person saw, and no other. */
function findPreviewFault({ preview }: CallState, { preview: named }: Confirmation): Rejection | null {
  const recorded = preview !== undefined && 'digest' in preview ? preview.digest : 'none';
  return named === undefined || named === recorded
    ? null
    : reject('preview_mismatch', '/preview', `the digest of the recorded preview is ${recorded}`);
}

function findGrantFault(state: SessionState, { grant, result, call_id }: Confirmation): Rejection | null {
  if (grant === undefined) return null;
  if (result !== 'allow')
    return reject('grant_invalid', '/grant', 'a denial cannot carry a grant; allow the call, or leave the grant out');
  if ((grant.argument === undefined) !== (grant.pattern === undefined)) {
    return reject('grant_invalid', '/grant', 'a grant needs both argument and pattern, or neither');
  }
  if (grantGiven(state.active_tool_batch as ActiveToolBatch, call_id, grant) === null) {
    const message = `a pattern stands for one argument of the call, a text or a list of words; the call has no such argument "${grant.argument}", or its arguments are too large to be compared`;
    return reject('grant_invalid', '/grant/argument', message);
  }
  const full = state.consent.grants.length >= GRANTS_MAX;
  return full ? reject('grants_full', '/grant', `the session has ${GRANTS_MAX} grants already`) : null;
}

function findAmendmentFault(state: SessionState, { instead, result, call_id }: Confirmation): Rejection | null {
  if (instead === undefined) return null;
  const at = (field: string, message: string) => reject('amendment_invalid', `/instead${field}`, message);
  if (result !== 'deny') return at('', 'to approve with other arguments, deny this call and give the new one');
  const batch = state.active_tool_batch as ActiveToolBatch;
  const amended = state.run?.amended ?? [];
  if (amended.length >= AMENDED_MAX)
    return at('', `${AMENDED_MAX} changed calls wait already; deny this call without one`);
  const planned = plannedOf(batch.plan, call_id)?.call;
  if (instead.tool_name !== planned?.tool_name)
    return at('/tool_name', `must be "${planned?.tool_name}", as in the call`);
  const taken = [...batch.observed, ...amended].some((call) => call.call_id === instead.call_id);
  if (taken) return at('/call_id', `the call id "${instead.call_id}" is used already; choose another`);
  const verdict = instead.arguments_verdict;
  return verdict?.valid === false ? at(`/arguments${verdict.path ?? ''}`, verdict.message ?? 'they do not fit') : null;
}

export function admitPreviewed(state: SessionState, event: Previewed): Rejection | null {
  const found = findCall(state, event);
  if (isLeft(found)) return found.left;
  const call = found.right;
  if (isTerminal(call.status)) return alreadySettled(call);
  if (event.attempt !== call.attempt) {
    return reject('stale_attempt', '/attempt', `the call is at attempt ${call.attempt}, not ${event.attempt}`);
  }
  const unowed = whyUnowed(call);
  if (unowed !== null) return reject('preview_not_owed', '/call_id', unowed);
  if (event.place !== undefined && isElsewhere(state.tool_runtime_context, event.place)) {
    return reject('other_place', '/place', 'the call would run in another workspace, or under another sandbox');
  }
  return findDigestFault(state, event) ?? findFilesFault(event);
}

function whyUnowed({ status, preview, preview_until_ms }: CallState): string | null {
  if (status !== 'waiting') return `the call is ${status}, and waits for no answer of a person`;
  if (preview !== undefined) {
    return 'digest' in preview
      ? 'the call has a preview already'
      : `it is recorded why there is none (${preview.code})`;
  }
  return preview_until_ms === undefined ? 'its tool makes no previews, or the call waits for others first' : null;
}

function findFilesFault({ preview }: Previewed): Rejection | null {
  if (!('files' in preview)) return null;
  const paths = preview.files.map(({ path }) => path);
  if (new Set(paths).size < paths.length) return reject('invalid_shape', '/preview/files', 'a file is named twice');
  const chars = paths.reduce((sum, path) => sum + path.length, 0);
  if (chars <= PREVIEW_PATHS_CHARS_MAX) return null;
  const message = `the paths have ${chars} characters, of at most ${PREVIEW_PATHS_CHARS_MAX}`;
  return reject('too_large', '/preview/files', message);
}

// Answers of people to calls that wait for them: allow, deny, or the result of the call (openboa, "Managed tool confirmation"
// and "Custom tools"; docs/design.md, law 9). An answer is bound to one call and the digest of its exact arguments, and
// counts once.
import { type Grant, type GrantScope, type PreviewedFiles, previewDigest } from '../schemas/consent.ts';
import { WITHDRAWN } from '../schemas/elicitation.ts';
import type { EventOfKind } from '../schemas/event.ts';
import type { CallId } from '../schemas/ids.ts';
import { invariant } from '../schemas/rejection.ts';
import type { ActiveToolBatch, CallState, SessionState } from '../schemas/state.ts';
import { grantFor, isGranted } from './consent.ts';
import { answered, endsRun, settle } from './batch.ts';
import { type BatchEdit, editBatch } from './batch-edit.ts';
import { callStateAt, plannedOf, positionOf } from './batch-index.ts';
import { argumentsValue } from '../schemas/tool-call.ts';
import { isTerminal } from './call-status.ts';
import { type NextState, inOrder, openBatchOf } from './next-state.ts';
import { answerOpen } from './questions.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type RuleSet, codedText } from './rules/rule-set.ts';

type Confirmation = EventOfKind<'user.tool_confirmation'>;

export function confirmCall(next: NextState, event: Confirmation, state: SessionState): void {
  if (event.result === 'deny') {
    const rules = rulesOf(next);
    const { code, message } = codedText(rules, 'permission_denied', {});
    settle(next, event.call_id, answered('denied', rules, { code, message: event.message ?? message }));
    if (event.instead !== undefined && next.run !== null) {
      next.run = inOrder({ ...next.run, amended: [...(next.run.amended ?? []), event.instead] });
    }
    return;
  }
  const edit = editBatch(next);
  edit.allow(event.call_id, 'answer', event.preview === undefined ? undefined : filesShown(edit.call(event.call_id)));
  allowGranted(next, edit, event, state);
  edit.finish();
}

/** The files of the preview that an admitted answer names. */
function filesShown({ preview }: CallState): PreviewedFiles {
  invariant(preview !== undefined && 'digest' in preview, 'an admitted answer names the recorded preview');
  return preview.files;
}

export function notePreview(next: NextState, { call_id, preview }: EventOfKind<'CallPreviewed'>): void {
  const edit = editBatch(next);
  const isKnown = 'files' in preview;
  edit.notePreview(
    call_id,
    isKnown ? { diff: preview.diff, digest: previewDigest(preview), files: preview.files } : preview,
  );
  edit.finish();
}

/** A grant for the rest of the session also answers the matching questions of the batch. */
function allowGranted(
  next: NextState,
  edit: BatchEdit,
  { call_id, grant: scope }: Confirmation,
  state: SessionState,
): void {
  if (scope === undefined) return;
  const grant = grantGiven(openBatchOf(state), call_id, scope);
  invariant(grant !== null, 'an admitted grant names an argument of its call');
  next.consent = { ...next.consent, grants: [...next.consent.grants, grant] };
  for (const id of waitingUnder(state, grant)) if (id !== call_id) edit.allow(id, 'grant');
}

/** The grant that an answer about a call of the batch gives; null when the call has no such argument. */
export function grantGiven(batch: ActiveToolBatch, id: CallId, scope: GrantScope): Grant | null {
  const planned = plannedOf(batch.plan, id)?.call;
  const observed = batch.observed[positionOf(batch, id) ?? -1];
  return planned === undefined
    ? null
    : grantFor(scope, planned, observed === undefined ? null : argumentsValue(observed));
}

/** The waiting calls of the open batch that a new grant covers. */
function waitingUnder(state: SessionState, grant: Grant): readonly CallId[] {
  const batch = openBatchOf(state);
  return batch.observed.flatMap((observed, position) => {
    const call = callStateAt(batch, position);
    if (call?.status !== 'waiting' || call.question !== undefined) return [];
    const planned = plannedOf(batch.plan, observed.call_id)?.call;
    const covered = planned !== undefined && isGranted(grant, planned, argumentsValue(observed));
    return covered ? [observed.call_id] : [];
  });
}

export function answerCustomCall(
  next: NextState,
  event: EventOfKind<'user.custom_tool_result'>,
  state: SessionState,
): void {
  const { success } = event.result;
  settle(next, event.call_id, {
    status: success ? 'succeeded' : 'failed',
    output: event.output,
    code: success ? null : 'tool_failed',
    terminal: endsRun(event.result, state.run),
    ...(event.attachments === undefined ? {} : { attachments: event.attachments }),
  });
}

/**
 * A call of which a time is reached: what it asks is answered with `cancel`, its preview is not owed any more, a question
 * about it is denied, a custom call fails, or the next attempt becomes owed.
 */
export function expireCall(rules: RuleSet, edit: BatchEdit, id: CallId, reachedMs: number): void {
  const call = edit.call(id);
  // The call shares the result of one that expired in the same event, so it has its result already.
  if (isTerminal(call.status)) return;
  if (call.question !== undefined) {
    answerOpen(edit, id, WITHDRAWN);
    return;
  }
  if (call.status === 'waiting') {
    if ((call.preview_until_ms ?? Infinity) <= reachedMs) edit.notePreview(id, codedText(rules, 'preview_lapsed', {}));
    if ((call.due_at_ms ?? Infinity) <= reachedMs)
      edit.settle(id, answered('denied', rules, codedText(rules, 'approval_expired', {})));
  } else if (call.not_before_ms !== undefined) edit.allowRetry(id);
  else edit.settle(id, answered('failed', rules, codedText(rules, 'tool_timeout', {})));
}

// Laws 6 and 9 from one event to the next, worked out apart from the fold: a call that has not started is refused as soon as
// its tool is denied, disabled, redefined or unavailable, waits as soon as the policy asks about it, and is allowed by its
// own answer, or by a grant that was given for the same tool and, with a pattern, the same other arguments.
import { isQuarantined } from './toolset-law.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { PlannedToolCall } from '../../../schemas/plan.ts';
import type { ActiveToolBatch, CallStatus, SessionState } from '../../../schemas/state.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import type { Judge } from './judge.ts';
import type { CallEntry, FoldedEvent, RecordedGrant, StoredSession } from './stored-session.ts';

/** Checks the open calls after an event, and notes which of them ask a person, are allowed, or have been refused. */
export function checkAuthority(stored: StoredSession, folded: FoldedEvent, judge: Judge): void {
  const { before, event, state } = folded;
  if (event.kind === 'ConsentPolicySet') stored.grants = [];
  else if (event.kind === 'user.tool_confirmation') noteGrant(stored, event);
  const { active_tool_batch: batch, run } = state;
  if (batch === null || run === null || run.ending !== null) return;
  const known = before.active_tool_batch?.batch_id === batch.batch_id ? before.active_tool_batch : null;
  for (const planned of batch.plan.planned_calls) {
    const call = stored.call(planned.call_id);
    if (call === undefined || planned.shares !== undefined) continue;
    const was = known === null ? null : statusIn(known, planned);
    checkCall({ stored, folded, call, planned, was, now: statusIn(batch, planned) }, judge);
  }
}

interface Judged {
  readonly stored: StoredSession;
  readonly folded: FoldedEvent;
  readonly call: CallEntry;
  readonly planned: PlannedToolCall;
  /** How it stood before the event; null when the event opened its batch. */
  readonly was: Standing | null;
  readonly now: Standing;
}

/** The status of a call; one that waits for the answer to what it asked itself waits for no permission. */
type Standing = CallStatus | 'asking';

function checkCall({ stored, folded, call, planned, was, now }: Judged, judge: Judge): void {
  const { event, state } = folded;
  const answered = event.kind === 'user.tool_confirmation' && event.call_id === planned.call_id;
  const byGrant = was === null ? planned.consent?.reasons.includes('granted') : was === 'waiting' && now === 'queued';
  if (byGrant === true && !answered) checkGranted(stored, call, planned, judge);
  if (now === 'waiting' && was !== 'waiting') Object.assign(call, ASKED_ANEW);
  if (now === 'rejected' && was !== 'rejected') {
    const why = refusalOf(planned, stored, state);
    judge.check(why !== null, 'deny wins', () => `${planned.call_id} is refused, but its tool is allowed`);
    call.ended = true;
  } else if (now === 'denied') call.ended = true;
  else if (now === 'queued' || now === 'waiting' || now === 'asking')
    checkOpen(call, planned, { stored, state, now, judge });
}

const ASKED_ANEW = { asks: true, allowed: false, preview: null, named: null } as const;

function noteGrant(stored: StoredSession, event: EventOfKind<'user.tool_confirmation'>): void {
  const call = stored.call(event.call_id);
  if (event.grant === undefined || call?.planned === null || call === undefined) return;
  const { tool_ref } = call.planned;
  stored.grants.push({ tool_ref, argument: event.grant.argument ?? null, args: call.observed.arguments ?? {} });
}

/** A call that a grant allows: some grant in force names the whole call. */
function checkGranted(stored: StoredSession, call: CallEntry, planned: PlannedToolCall, judge: Judge): void {
  const covered = stored.grants.some((grant) => covers(grant, planned, call.observed.arguments ?? {}));
  judge.check(covered, 'approvals bound', () => `${planned.call_id} is allowed by no answer and by no grant`);
  call.allowed = true;
}

function covers({ tool_ref, argument, args }: RecordedGrant, planned: PlannedToolCall, made: JsonObject): boolean {
  if (tool_ref !== planned.tool_ref) return false;
  if (argument === null) return true;
  const others = ({ [argument]: _granted, ...rest }: JsonObject): string => canonicalText(rest);
  return typeof made[argument] === typeof args[argument] && others(made) === others(args);
}

interface Open {
  readonly stored: StoredSession;
  readonly state: SessionState;
  readonly now: Standing;
  readonly judge: Judge;
}

function checkOpen(call: CallEntry, planned: PlannedToolCall, { stored, state, now, judge }: Open): void {
  const why = refusalOf(planned, stored, state);
  judge.check(why === null, 'deny wins', () => `${planned.call_id} is ${now}, but its tool ${why}`);
  const tool = state.tool_registry[planned.tool_id];
  const amended = planned.consent?.reasons.includes('approved_with_changes') === true;
  const free = now !== 'queued' || call.allowed || amended || tool === undefined || !asksAbout(tool, state);
  judge.check(free, 'approvals bound', () => `${planned.call_id} may start, but the policy asks about it`);
}

/** Why a call of a plan must not start now; null when it may. */
function refusalOf({ tool_id, tool_ref }: PlannedToolCall, stored: StoredSession, state: SessionState): string | null {
  const tool = state.tool_registry[tool_id];
  const { session, run } = state.tool_overrides;
  if (tool === undefined) return 'is gone';
  if (tool.tool_ref !== tool_ref) return 'has another definition';
  if (isQuarantined(stored, tool_id)) return 'is not approved';
  if (session.disable.includes(tool_id) || run.disable.includes(tool_id)) return 'is disabled';
  const ready = state.tool_runtime_context.host_session_status === 'ready';
  if (tool.availability_rules.includes('host_session_ready') && !ready) return 'is not available';
  return settingsOf(tool, state).includes('deny') ? 'is denied' : null;
}

/** Whether a tool, or the policy, asks about every call of the tool that no grant covers. */
export const asksAbout = (tool: ToolSpec, state: SessionState): boolean =>
  tool.permission_policy === 'always_ask' || settingsOf(tool, state).includes('ask');

/** What the policy says about the mode of a tool, and about its destructive flag where the mode does not cover it. */
function settingsOf({ mode, destructive, executor }: ToolSpec, { consent }: SessionState): readonly string[] {
  const { modes } = consent.policy;
  const covered = mode === 'destructive' || mode === 'local' || executor.kind === 'custom';
  return destructive && !covered ? [modes[mode], modes.destructive] : [modes[mode]];
}

export function statusIn({ observed, pages }: ActiveToolBatch, { call_id }: PlannedToolCall): Standing {
  const at = observed.findIndex((call) => call.call_id === call_id);
  const { status = 'rejected', question } = pages.flat()[at] ?? {};
  return status === 'waiting' && question !== undefined ? 'asking' : status;
}

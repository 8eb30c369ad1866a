// Laws 9 and 12 across copies: whenever a person has answered, a call is queued again, or a changed one is planned, the
// session is forked there, and the fork must owe no call that its own people have not allowed, none that the source may make
// and that must not run twice, and none that goes on with an attempt of the source. The fork is only looked at: no bridge works
// for it.
import { isLeft } from 'fp-ts/lib/Either.js';
import { callStateOf } from '../../../reducers/batch-index.ts';
import { type CallId, type SessionId, brand } from '../../../schemas/ids.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { newForker } from '../../core/copies/fork.ts';
import { asksAbout, statusIn } from './authority-laws.ts';
import type { Judge } from './judge.ts';
import { type StoredSession, recordsOf } from './stored-session.ts';

const FORKED_AFTER: ReadonlySet<IngressEvent['kind']> = new Set([
  'user.tool_confirmation',
  'LeaseExpired',
  'ToolBatchSettled',
  'user.elicitation_result',
]);

/** Forks the session at its end if one of its new events calls for it. */
export function checkCopies(id: SessionId, stored: StoredSession, events: readonly IngressEvent[], judge: Judge): void {
  const { run, active_tool_batch: batch } = stored.state();
  if (run === null || batch === null || !events.some(({ kind }) => FORKED_AFTER.has(kind))) return;
  const state = forkOf(id, stored);
  if (state === null) judge.fail('replay identity', `${id} cannot be forked after ${stored.events.length} events`);
  else checkFork(id, state, judge);
}

function forkOf(id: SessionId, stored: StoredSession): SessionState | null {
  const { commits, events } = stored;
  const chain = commits.at(-1)?.chain;
  if (chain === undefined) return null;
  const at_ms = stored.state().updated_at_ms;
  const forker = newForker({ session_id: brand(`${id}-fork`), at: events.length, chain, run: 'go', at_ms });
  for (const record of recordsOf(stored)) if (isLeft(forker.add(record))) return null;
  const end = forker.finish();
  return isLeft(end) ? null : end.right.state;
}

function checkFork(id: SessionId, state: SessionState, judge: Judge): void {
  const { active_tool_batch: batch, consent, run } = state;
  const where = `${id}, forked after ${state.version} events`;
  const changed = run?.amended?.length ?? 0;
  judge.check(changed === 0, 'runs at most once', () => `${where}: ${changed} changed calls of the source are made`);
  judge.check(consent.grants.length === 0, 'approvals bound', () => `${where}: it has grants of the source`);
  for (const planned of batch?.plan.planned_calls ?? []) {
    const { call_id, executor, repeatable, shares, tool_id } = planned;
    const status = batch === null ? 'rejected' : statusIn(batch, planned);
    const isContinued = status === 'asking' || (OPEN.has(status) && resumes(batch, call_id));
    judge.check(!isContinued, 'runs at most once', () => `${where}: ${call_id} goes on with an attempt of the source`);
    const tool = state.tool_registry[tool_id];
    if ((status !== 'queued' && status !== 'running') || shares !== undefined || tool === undefined) continue;
    const once = repeatable || executor.kind === 'custom';
    judge.check(once, 'runs at most once', () => `${where}: ${call_id} is ${status}, and the source may make it`);
    const asks = asksAbout(tool, state);
    judge.check(!asks, 'approvals bound', () => `${where}: ${call_id} is ${status}, and no one was asked there`);
  }
}

const OPEN: ReadonlySet<string> = new Set(['queued', 'running', 'waiting']);

const resumes = (batch: SessionState['active_tool_batch'], id: CallId): boolean =>
  batch !== null && callStateOf(batch, id)?.resume !== undefined;

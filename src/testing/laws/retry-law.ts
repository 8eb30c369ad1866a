// Law 13, retried when due: a call is retried only when it may be, not before its time, and no more often than its run
// allows. The check reads the events and the genesis record only, and computes the waits independently of the fold.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallStatus } from '../../../schemas/state.ts';
import type { StoredSession, CallEntry, FoldedEvent } from './stored-session.ts';
import type { Judge } from './judge.ts';

type Settled = EventOfKind<'ToolCallSettled'>;

/** An event about a call must name the attempt that is owed. */
export function checkAttempt(
  call: CallEntry,
  { call_id, attempt }: Pick<Settled, 'call_id' | 'attempt'>,
  judge: Judge,
): void {
  const ofNow = attempt === call.attempt;
  judge.check(
    ofNow,
    'settle once',
    () => `${call_id}: attempt ${attempt} is reported, but attempt ${call.attempt} is owed`,
  );
}

/** Checks whether a settled call is retried exactly when it must be; `status`: its status afterwards. */
export function checkRetry(call: CallEntry, { stored, folded, status }: Retried, judge: Judge): void {
  const event = folded.event as Settled;
  const { call_id, at_ms } = event;
  const earlyMs = call.notBeforeMs - at_ms;
  judge.check(
    earlyMs <= 0,
    'retried when due',
    () => `${call_id} ended again ${earlyMs} ms before its next attempt was due`,
  );
  const again = status === 'queued' || status === 'waiting';
  const due = mayBeRetried(call, stored, folded);
  // Law 6 decides whether the next attempt was refused rightly.
  judge.check(
    again === due || (due && status === 'rejected'),
    'retried when due',
    () => `${call_id} ${due ? 'must' : 'must not'} be retried`,
  );
  if (again) scheduleRetry(call, at_ms + waitMs(stored, event));
}

interface Retried {
  readonly stored: StoredSession;
  readonly folded: FoldedEvent;
  readonly status: CallStatus | undefined;
}

/** Makes the next attempt owed, from this time on. */
export function scheduleRetry(call: CallEntry, notBeforeMs: number): void {
  call.attempt += 1;
  call.notBeforeMs = notBeforeMs;
}

/** It failed for a transient reason, is repeatable, has attempts left, and its run continues. */
function mayBeRetried({ planned }: CallEntry, { genesis }: StoredSession, { event, before }: FoldedEvent): boolean {
  const { retryable, attempt, result, outcome = result.success ? 'succeeded' : 'failed' } = event as Settled;
  const left = attempt < genesis.config.retry.attempts_max;
  const transient = outcome === 'failed' && retryable === true;
  return transient && left && planned?.repeatable === true && before.run?.ending === null;
}

/** Doubles after each failure, up to a bound, times the recorded jitter. */
function waitMs({ genesis }: StoredSession, { attempt, jitter_permille = 1_000 }: Settled): number {
  const { base_ms, cap_ms } = genesis.config.retry;
  let wait = base_ms;
  for (let failures = 1; failures < attempt && wait < cap_ms; failures += 1) wait *= 2;
  return Math.floor((Math.min(wait, cap_ms) * jitter_permille) / 1_000);
}

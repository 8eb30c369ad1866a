// A call is tried again only when it may be, not before its time, and no more often than its run allows. Held against the
// bare events and the genesis record, with an arithmetic of its own.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallStatus } from '../../../schemas/state.ts';
import type { Book, CallEntry, Taken } from './book.ts';
import type { Judge } from './judge.ts';

type Settled = EventOfKind<'ToolCallSettled'>;

/** Whatever is said of a call is said of the attempt that is owed. */
export function checkAttempt(
  call: CallEntry,
  { call_id, attempt }: Pick<Settled, 'call_id' | 'attempt'>,
  judge: Judge,
): void {
  const ofNow = attempt === call.attempt;
  judge.hold(ofNow, 'settle once', () => `${call_id}: attempt ${attempt} is told of, and ${call.attempt} is owed`);
}

/** Whether the call has its result, or is tried again, once this has become durable; `status`: what it is then. */
export function checkRetry(call: CallEntry, { book, taken, status }: Retried, judge: Judge): void {
  const event = taken.event as Settled;
  const { call_id, at_ms } = event;
  const earlyMs = call.notBeforeMs - at_ms;
  judge.hold(earlyMs <= 0, 'tried again when due', () => `${call_id} has ended again ${earlyMs} ms before its time`);
  const again = status === 'queued';
  const due = mayBeTriedAgain(call, book, taken);
  judge.hold(again === due, 'tried again when due', () => `${call_id} is ${due ? 'not ' : ''}to be tried again`);
  if (again) tryAgain(call, at_ms + waitMs(book, event));
}

interface Retried {
  readonly book: Book;
  readonly taken: Taken;
  readonly status: CallStatus | undefined;
}

/** The next attempt is owed, from this time on. */
export function tryAgain(call: CallEntry, notBeforeMs: number): void {
  call.attempt += 1;
  call.notBeforeMs = notBeforeMs;
}

/** It failed for a passing reason, may run twice, has attempts left, and its run goes on. */
function mayBeTriedAgain({ planned }: CallEntry, { genesis }: Book, { event, before }: Taken): boolean {
  const { retryable, attempt, result, outcome = result.success ? 'succeeded' : 'failed' } = event as Settled;
  const left = attempt < (genesis.config.retry?.attempts_max ?? 1);
  const passing = outcome === 'failed' && retryable === true;
  return passing && left && planned?.repeatable === true && before.run?.ending === null;
}

/** Twice as long after each failure, up to a bound, and a little more or less. */
function waitMs({ genesis }: Book, { attempt, jitter_permille = 1_000 }: Settled): number {
  const { base_ms = 0, cap_ms = 0 } = genesis.config.retry ?? {};
  let wait = base_ms;
  for (let failures = 1; failures < attempt && wait < cap_ms; failures += 1) wait *= 2;
  return Math.floor((Math.min(wait, cap_ms) * jitter_permille) / 1_000);
}

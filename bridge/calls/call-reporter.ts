// Notes the start and the end of a call in this bridge's ledger, and reports the end to the engine.
import { type Either, isRight } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { CallSchedule } from './call-schedule.ts';
import { clip, messageOf } from '../log.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { HeldCall } from './held-call.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { LedgerKey } from '../ledger/ledger-entries.ts';
import type { BridgeLedger } from '../ledger/bridge-ledger.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import { BACKOFF_MS_BASE, BACKOFF_MS_MAX } from '../../schemas/limits.ts';
import { backoffMs } from '../engine-link/backoff.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { unreportableSettlement } from './settlement.ts';

interface CallReporterOptions {
  readonly schedule: CallSchedule;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly ledger: BridgeLedger;
  readonly clock: BridgeClock;
  readonly random: () => number;
}

export interface CallReporter {
  /** Notes the start in the ledger before the call runs; returns the report of the failed call when that fails. */
  noteStart(call: HeldCall): Promise<CallReport | null>;
  /** The attempt is over and another one follows, of whichever bridge: releases it. */
  leave(call: HeldCall): void;
  /** Reports how the call ended, and releases it. */
  settle(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>>;
}

export function newCallReporter(options: CallReporterOptions): CallReporter {
  const { schedule, leases, outbox, ledger, clock, random } = options;

  /** A call with the epoch of its lease, which the next bridge needs to report in the name of this one. */
  function leasedKey({ session_id, effect_id }: LedgerKey): LedgerKey & { readonly epoch?: number } {
    const epoch = leases.epochOf({ session_id, effect_id });
    return { session_id, effect_id, ...(epoch === undefined ? {} : { epoch }) };
  }

  async function noteStart({ effect: { session_id, effect_id, plan_hash } }: HeldCall): Promise<CallReport | null> {
    try {
      await ledger.started({ ...leasedKey({ session_id, effect_id }), plan_hash });
      return null;
    } catch (error) {
      const message = `the call was not run: cannot write its start to the bridge's ledger (${messageOf(error)})`;
      return failedReport('ledger_failed', clip(message));
    }
  }

  async function settle(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>> {
    const answer = await report(call, event);
    if (!isRecorded(answer)) schedule.drop(call);
    else if (mayBeRetried(call, event, answer)) schedule.tried(call);
    else schedule.settled(call);
    leases.end(call.effect);
    // `closing` means that the bridge stopped waiting: the next process reports it again.
    if (isRight(answer) || answer.left.code !== 'closing') ledger.closed(call.effect);
    return answer;
  }

  function leave(call: HeldCall): void {
    schedule.tried(call);
    leases.end(call.effect);
    ledger.closed(call.effect);
  }

  /** A report that is refused as malformed is replaced by one that is always well-formed. */
  async function report(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>> {
    const { repeatable } = call.effect;
    // Sent to the ledger and to the engine at the same time: either may outlive this process.
    if (!repeatable) void ledger.ended(leasedKey(call.effect), event);
    const answer = await send(call, event);
    if (isRight(answer) || !MALFORMED.has(answer.left.code)) return answer;
    const plain = unreportableSettlement(call.effect, answer.left);
    if (!repeatable) void ledger.ended(leasedKey(call.effect), plain);
    return await send(call, plain);
  }

  /**
   * Sends a report. One that is refused because the call must wait for another is kept and sent again, until that one has
   * settled or the call is stopped.
   */
  async function send(
    { effect: { session_id, effect_id }, stop }: HeldCall,
    event: Ingress,
  ): Promise<Either<Rejection, void>> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await outbox.report(session_id, event, effect_id);
      if (isRight(answer) || answer.left.code !== 'call_not_ready') return answer;
      if (stop.why !== null) return answer;
      const ms = backoffMs(attempt, random, { baseMs: BACKOFF_MS_BASE, maxMs: BACKOFF_MS_MAX });
      await sleep(clock, ms, stop.signal);
    }
  }

  return { noteStart, leave, settle };
}

type Answer = Either<Rejection, void>;

/** The end of this attempt is recorded: by this report, by another bridge, or by an earlier report of this process. */
const isRecorded = (answer: Answer): boolean =>
  isRight(answer) || answer.left.code === 'call_already_settled' || answer.left.code === 'event_id_reused';

// The engine decides whether there is another attempt: it grants one, or it owes the calls that wait for this one. When an
// earlier report of the attempt had other content, this bridge cannot know whether that attempt was the last.
function mayBeRetried({ effect }: HeldCall, event: Ingress, answer: Answer): boolean {
  if (!effect.repeatable) return false;
  if (isRight(answer)) return event.kind === 'ToolCallSettled' && event.retryable === true;
  return answer.left.code === 'event_id_reused';
}

const MALFORMED: ReadonlySet<string> = new Set<Rejection['code']>([
  'invalid_shape',
  'invalid_value',
  'too_large',
  'too_deep',
  'inconsistent_result',
  'content_mismatch',
  'unknown_blob',
]);

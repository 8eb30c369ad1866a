// What is said of one call, to the engine and to this bridge's own ledger: that it starts, and how it ended.
import { type Either, isRight } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { CallSchedule } from './call-schedule.ts';
import { clip, messageOf } from '../log.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import type { HeldCall } from './held-call.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import type { BridgeLedger } from '../ledger/bridge-ledger.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import { unreportable } from './settlement.ts';

interface CallReporterOptions {
  readonly owner: OwnerId;
  readonly nonce: string;
  readonly schedule: CallSchedule;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly ledger: BridgeLedger;
}

export interface CallReporter {
  /** Puts the start on record; false when the engine does not have it. */
  recordStart(call: HeldCall): Promise<boolean>;
  /** What a process that comes after this one has to know before the call runs; the report when that failed. */
  noteStart(call: HeldCall): Promise<CallReport | null>;
  /** Reports how it ended, and lets go of it. */
  settle(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>>;
}

export function newCallReporter({ owner, nonce, schedule, leases, outbox, ledger }: CallReporterOptions): CallReporter {
  async function recordStart(call: HeldCall): Promise<boolean> {
    const { effect_id, session_id, batch_id, call_id, plan_hash, attempt } = call.effect;
    const answer = await outbox.report(
      session_id,
      {
        kind: 'ToolCallStarted',
        // Not the same in every process: a second bridge must be refused, not given the first one's answer.
        event_id: eventIdOf(effect_id, `started/${nonce}`),
        batch_id,
        call_id,
        plan_hash,
        attempt,
        owner,
      },
      effect_id,
    );
    call.started = isRight(answer);
    return call.started;
  }

  async function noteStart({ effect: { session_id, effect_id, plan_hash } }: HeldCall): Promise<CallReport | null> {
    try {
      const epoch = leases.epochOf({ session_id, effect_id });
      await ledger.started({ session_id, effect_id, plan_hash, ...(epoch === undefined ? {} : { epoch }) });
      return null;
    } catch (error) {
      const what = `the call was not run: its start could not be noted in the bridge's ledger (${messageOf(error)})`;
      return failedReport('ledger_failed', clip(what));
    }
  }

  async function settle(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>> {
    const answer = await tell(call, event);
    if (!isOnRecord(answer)) schedule.drop(call);
    else if (mayBeTriedAgain(call, event, answer)) schedule.tried(call);
    else schedule.settled(call);
    leases.end(call.effect);
    // An answer that was not waited for is not one: the next process asks for it.
    if (isRight(answer) || answer.left.code !== 'closing') ledger.closed(call.effect);
    return answer;
  }

  /** A report that is refused for what it looks like is replaced by one that cannot be. */
  async function tell(call: HeldCall, event: Ingress): Promise<Either<Rejection, void>> {
    const { session_id, effect_id, repeatable } = call.effect;
    // On its way to the ledger and to the engine at the same time: either may outlive this process.
    if (!repeatable) void ledger.ended(call.effect, event);
    const answer = await outbox.report(session_id, event, effect_id);
    if (isRight(answer) || !MALFORMED.has(answer.left.code)) return answer;
    const plain = unreportable(call.effect, answer.left);
    if (!repeatable) void ledger.ended(call.effect, plain);
    return await outbox.report(session_id, plain, effect_id);
  }

  return { recordStart, noteStart, settle };
}

type Answer = Either<Rejection, void>;

/** How this attempt ended is on record, be it from somebody else, or from this process before it said otherwise. */
const isOnRecord = (answer: Answer): boolean =>
  isRight(answer) || answer.left.code === 'call_already_settled' || answer.left.code === 'event_id_reused';

// Whether there is another attempt is the engine's to say: it grants it, or owes what waits for this call without it. Of
// an attempt that was told otherwise before, nobody here knows whether it was the last.
function mayBeTriedAgain({ effect }: HeldCall, event: Ingress, answer: Answer): boolean {
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
]);

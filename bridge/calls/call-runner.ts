// The life of one leased call in this bridge: check it against the plan, put its start on record where it must not
// run twice, run it, report it, and let go of the lease.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { OwnerId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { CallSchedule } from './call-schedule.ts';
import type { PutBlob } from '../engine-link/text-content.ts';
import { newCallReporter } from './call-reporter.ts';
import { type CallEnd, notRun, runBounded } from '../executors/bounded-run.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { failedReport } from '../executors/call-report.ts';
import { type Executors, contextOf } from '../executors/executors.ts';
import type { HeldCall } from './held-call.ts';
import type { BridgeLedger } from '../ledger/bridge-ledger.ts';
import type { HeldLeases } from '../engine-link/held-leases.ts';
import { type Log, messageOf } from '../log.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import type { PlanCheck } from './plan-check.ts';
import type { StopReason } from '../executors/stop-switch.ts';
import { settlementOf, unknownSettlement, unreportable } from './settlement.ts';

export interface CallRunnerOptions {
  readonly owner: OwnerId;
  /** Different in every process, so that a start on record is known to be this process's own. */
  readonly nonce: string;
  readonly executors: Executors;
  readonly schedule: CallSchedule;
  readonly leases: HeldLeases;
  readonly outbox: Outbox;
  readonly planCheck: PlanCheck;
  readonly ledger: BridgeLedger;
  readonly putBlob: PutBlob;
  readonly clock: BridgeClock;
  readonly log: Log;
  /** A call has settled, or made room: others may start. */
  readonly moved: () => void;
}

export interface CallRunner {
  /** Runs a call that the schedule has started; answers when nothing is left to do for it. Never throws. */
  run(call: HeldCall): Promise<void>;
  /** Stops a call: at once if it waits, through its signal if it runs. */
  stop(call: HeldCall, why: StopReason): void;
}

export function newCallRunner(options: CallRunnerOptions): CallRunner {
  const { schedule, leases, planCheck, ledger, putBlob, clock, log } = options;
  const teller = newCallReporter(options);

  async function run(call: HeldCall): Promise<void> {
    const before = ledger.find(call.effect);
    if (before !== null) {
      schedule.ranOut(call);
      await teller.settle(call, before.event ?? unknownSettlement(call.effect));
      options.moved();
      return;
    }
    const end = await endOf(call);
    schedule.ranOut(call);
    options.moved();
    if (end !== null && !isAbandoned(call)) await report(call, end);
    else letGo(call, call.stop.why ?? 'start_refused');
    options.moved();
  }

  /** How it ended; null when it never ran and somebody else may run it. */
  async function endOf(call: HeldCall): Promise<CallEnd | null> {
    const checked = await planCheck.check(call.effect, call.batch.plan);
    if (isLeft(checked)) return notRun(checked.left);
    const executor = options.executors.find(call.effect.tool_id);
    if (executor === null) {
      const message = `no executor of this bridge runs "${call.effect.tool_id}"`;
      return notRun(failedReport('executor_missing', message));
    }
    if (!call.effect.repeatable) {
      if (!(await teller.recordStart(call))) return null;
      const fault = await teller.noteStart(call);
      if (fault !== null) return notRun(fault);
    }
    // Held up since, by whatever holds a process up, it may be somebody else's by now, and others may be at what it waits for.
    if (!leases.isFresh(call.effect)) return call.started ? notRun(failedReport('lease_lost', HELD_UP)) : null;
    const { session_id, batch_id, call_id, tool_id, group, attempt, timeout_ms, output_bytes_max } = call.effect;
    log({ event: 'call_started', session_id, batch_id, call_id, tool_id, group, attempt });
    const { stop } = call;
    const context = contextOf(stop, { timeoutMs: timeout_ms, outputBytesMax: output_bytes_max, putBlob });
    const act = (args: JsonObject) => async () => await executor.run(call.effect, args, context);
    return await runBounded(act(checked.right), { clock, timeoutMs: timeout_ms, stop });
  }

  async function report(call: HeldCall, end: CallEnd): Promise<void> {
    const event = await settlementOf(call.effect, end, putBlob).catch((error: unknown) =>
      unreportable(call.effect, { code: 'blob_refused', message: messageOf(error) }),
    );
    const answer = await teller.settle(call, event);
    if (isLeft(answer)) return;
    const { outcome, durationMs: duration_ms } = end;
    const { session_id, batch_id, call_id, tool_id } = call.effect;
    const code = end.report.code ?? 'tool_failed';
    if (outcome === 'succeeded') {
      log({ event: 'call_settled', session_id, batch_id, call_id, tool_id, outcome, duration_ms });
    } else log({ event: 'call_settled', session_id, batch_id, call_id, tool_id, outcome, code, duration_ms });
  }

  // The lease of a call that stops with its bridge is given back with all others; any other is left to run out.
  function letGo(call: HeldCall, why: string): void {
    schedule.drop(call);
    if (why !== 'stopping') leases.end(call.effect);
    const { session_id, batch_id, call_id, tool_id } = call.effect;
    log({ event: 'call_dropped', session_id, batch_id, call_id, tool_id, why });
  }

  return {
    run,
    stop(call, why) {
      if (call.phase === 'running') call.stop.stop(why);
      else if (call.phase === 'waiting') letGo(call, why);
    },
  };
}

const HELD_UP =
  'the call was not run: its bridge was held up for as long as a lease lasts. Make it again if it is still needed.';

// Stopped before anything was on record, and not by the engine's word: it stays owed, and somebody else runs it.
const isAbandoned = ({ started, stop: { why } }: HeldCall): boolean =>
  !started && (why === 'lost' || why === 'stopping');

/** Text from a random source that tells this process from others. */
export const newNonce = (random: () => number): string => Math.floor(random() * 2 ** 48).toString(36);

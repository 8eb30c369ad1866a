// The tool calls that this bridge has leased: adds them to the schedule, cancels them, and starts those that may run.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import type { LeaseGrant } from '../../schemas/wire.ts';
import type { HeldLeases, Leased } from '../engine-link/held-leases.ts';
import type { RunningWork } from '../executors/running-work.ts';
import type { CallRunner } from './call-runner.ts';
import type { CallSchedule } from './call-schedule.ts';
import type { ToolCall } from './held-call.ts';
import type { OtherBridgesWatch } from './watch-other-bridges.ts';

interface LeasedCallsOptions {
  readonly schedule: CallSchedule;
  readonly runner: CallRunner;
  readonly leases: HeldLeases;
  readonly otherBridges: OtherBridgesWatch;
  readonly work: RunningWork;
  /** No call starts once it aborts. */
  readonly signal: AbortSignal;
}

export interface LeasedCalls {
  /** Returns false when this bridge already has the call. */
  add(leased: Leased<ToolCall>, plans: LeaseGrant['plans']): boolean;
  /** Stops this call and, when its run ends, the calls of its batch that have not started. Returns false when this bridge has no such attempt. */
  cancel(effect: EffectOfKind<'tool.cancel'>): boolean;
  /** Hands a person's answer to the call that asked. Returns false when this bridge has no such attempt, or the call has the answer. */
  answer(effect: EffectOfKind<'tool.answer'>): boolean;
  /** Starts every call that may run now. */
  startReady(): void;
  stopAll(): void;
}

export function newLeasedCalls(options: LeasedCallsOptions): LeasedCalls {
  const { schedule, runner, leases, otherBridges, work, signal } = options;
  return {
    add(leased, plans) {
      const { effect } = leased;
      const call = schedule.add(effect, () => planOf(effect, plans));
      if (call === null) {
        // A restarted engine grants an effect again: the work in progress continues under the new epoch.
        const known = schedule.find(effect.session_id, effect.batch_id, effect.call_id);
        if (known !== null) leases.hold(leased, () => runner.stop(known, 'lost'));
        return false;
      }
      leases.hold(leased, () => runner.stop(call, 'lost'));
      return true;
    },
    cancel({ session_id, batch_id, call_id, attempt, run_ends }) {
      for (const call of run_ends ? schedule.held() : []) {
        const { effect, phase } = call;
        if (effect.session_id !== session_id || effect.batch_id !== batch_id || phase !== 'waiting') continue;
        runner.stop(call, 'cancelled');
      }
      const call = schedule.find(session_id, batch_id, call_id);
      if (call === null || call.effect.attempt !== attempt) return false;
      runner.stop(call, 'cancelled');
      return true;
    },
    answer(effect) {
      const call = schedule.find(effect.session_id, effect.batch_id, effect.call_id);
      return call?.effect.attempt === effect.attempt && call.answers.deliver(effect);
    },
    startReady() {
      if (signal.aborted) return;
      for (let call = schedule.startNext(); call !== null; call = schedule.startNext()) work.track(runner.run(call));
      otherBridges.checkLater();
    },
    stopAll() {
      for (const call of schedule.held()) runner.stop(call, 'stopping');
    },
  };
}

const planOf = ({ session_id, batch_id }: ToolCall, plans: LeaseGrant['plans']): ToolBatchPlan | null =>
  plans.find((leased) => leased.session_id === session_id && leased.batch_id === batch_id)?.plan ?? null;

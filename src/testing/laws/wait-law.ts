// Law 20, waits end in time: what an event makes a session wait for comes when the wait has lasted as long as was asked,
// whatever the clock of the engine was set to. Waits are counted in the time that passes in the simulation. An engine that
// starts anew counts from the last event what is left of a wait, because it cannot know how long it was down.
import { countedDeadline } from '../../../reducers/deadlines.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SimTime } from '../sim-time.ts';
import type { Judge } from './judge.ts';

/** How late a wait may end, in milliseconds: storage may fail, and what failed is tried again. */
const WAIT_LATE_MS_MAX = 10_000;

interface Wait {
  readonly deadlineMs: number;
  readonly leftMs: number;
  /** When that much was left. */
  readonly sinceMs: number;
}

export interface WaitLaw {
  /** The state of a session after a durable event. */
  reached(id: SessionId, state: SessionState): void;
  engineStarted(states: ReadonlyMap<SessionId, SessionState>): void;
  engineStopped(): void;
  /** Checks the waits that have not ended. */
  finish(): void;
}

export function newWaitLaw(judge: Judge, time: Pick<SimTime, 'passedMs'>): WaitLaw {
  const waits = new Map<SessionId, Wait>();
  let down = true;

  function check(id: SessionId): void {
    const wait = waits.get(id);
    if (wait === undefined || down) return;
    const lateMs = time.passedMs() - wait.sinceMs - wait.leftMs;
    const inTime = lateMs <= WAIT_LATE_MS_MAX;
    judge.check(inTime, 'waits end in time', () => `${id} waits ${Math.round(lateMs)} ms longer than was asked`);
  }

  function count(id: SessionId, state: SessionState): void {
    const deadlineMs = countedDeadline(state);
    if (deadlineMs === null) waits.delete(id);
    else {
      // A clock that was set forward may have passed a later deadline while an earlier one was counted.
      const leftMs = Math.max(0, deadlineMs - state.updated_at_ms);
      waits.set(id, { deadlineMs, leftMs, sinceMs: time.passedMs() });
    }
  }

  return {
    reached(id, state) {
      check(id);
      if (waits.get(id)?.deadlineMs !== countedDeadline(state)) count(id, state);
    },
    engineStarted(states) {
      down = false;
      for (const [id, state] of states) count(id, state);
    },
    engineStopped() {
      down = true;
    },
    finish() {
      for (const id of waits.keys()) check(id);
    },
  };
}

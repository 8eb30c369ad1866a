// The time of a simulated world. It advances only when nothing else can happen. Each process reads it through a separate
// clock, which can be set wrong, stalled or stopped permanently. No platform timer is used.
import type { BridgeClock } from '../clock.ts';
import { SIM_TIMERS_MAX } from '../../schemas/limits.ts';

/** The clock of one process. */
export interface ProcessClock extends BridgeClock {
  /** Sets the clock forward or back by so many milliseconds; no time passes. */
  jump(ms: number): void;
  /** Stalls the process for so long: timers that are due meanwhile fire afterwards. */
  stall(ms: number): void;
  /** Ends the process: none of its timers fires any more. */
  kill(): void;
  isDead(): boolean;
  /** Resolves when the process is not stalled; never when it is dead. */
  awake(): Promise<void>;
}

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

/** What the clocks show when a simulation begins, in milliseconds since 1970. */
const START_MS = 1_700_000_000_000;

/** The event loop turns once in this many times that the microtasks have ended. */
const TURN_EVERY = 8;

export class SimTime {
  readonly #timers = new Set<Timer>();
  #passedMs = 0;
  #fired = 0;
  /** Callbacks that run after all pending microtasks. */
  #soon: (() => void)[] = [];
  #settled = 0;

  /** Milliseconds since the simulation began. */
  passedMs(): number {
    return this.#passedMs;
  }

  /** Calls `fire` once, after so many milliseconds. Returns a function that cancels the timer. */
  after(ms: number, fire: () => void): () => void {
    const timer = { atMs: this.#passedMs + Math.max(0, ms), fire };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** More timers have fired than in any simulation that ends. */
  isExhausted(): boolean {
    return this.#fired >= SIM_TIMERS_MAX;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Advances time until the condition holds; false when it does not hold by `untilMs`. */
  async run(done: () => boolean, untilMs: number): Promise<boolean> {
    await this.#settle();
    while (!done()) {
      const next = this.#next();
      if (next === null || next.atMs > untilMs || this.isExhausted()) return false;
      this.#fired += 1;
      this.#timers.delete(next);
      this.#passedMs = Math.max(this.#passedMs, next.atMs);
      next.fire();
      await this.#settle();
    }
    return true;
  }

  /** `onFault` gets the errors that the timers of the process throw; without it they are faults of the simulator. */
  process(onFault?: (error: unknown) => void): ProcessClock {
    let offset = START_MS;
    let resumesAt = 0;
    let dead = false;
    const isDead = (): boolean => dead;
    const guarded = (fire: () => void): void => {
      if (dead) return;
      if (this.#passedMs < resumesAt) {
        this.after(resumesAt - this.#passedMs, () => guarded(fire));
        return;
      }
      try {
        fire();
      } catch (error) {
        if (onFault === undefined) throw error;
        onFault(error);
      }
    };
    return {
      now: () => Math.max(0, offset + Math.floor(this.#passedMs)),
      elapsed: () => this.#passedMs,
      after: (ms, then) => {
        if (Number.isNaN(Math.max(0, ms))) throw new RangeError(`after: ${String(ms)} is not a number of milliseconds`);
        let called = false;
        const cancel = this.after(ms, () => guarded(() => called || then()));
        return () => {
          called = true;
          cancel();
        };
      },
      soon: (then) => void this.#soon.push(() => guarded(then)),
      jump: (ms) => {
        offset += ms;
      },
      stall: (ms) => {
        resumesAt = Math.max(resumesAt, this.#passedMs + ms);
      },
      kill: () => {
        dead = true;
      },
      isDead,
      awake: async () => {
        while (this.#passedMs < resumesAt && !isDead()) await this.sleep(resumesAt - this.#passedMs);
        if (isDead()) await never();
      },
    };
  }

  // Timers due at the same time fire in the order in which they were set: a Set keeps the order.
  #next(): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (next === null || timer.atMs < next.atMs) next = timer;
    return next;
  }

  // All microtasks end before the next tick. A bridge that waits for the event loop gets a turn of it from time to time only:
  // a turn costs as much as most of the work in between.
  async #settle(): Promise<void> {
    this.#settled += 1;
    let turns = this.#settled % TURN_EVERY === 0 ? 1 : 0;
    let loops = 0;
    while (!this.isExhausted()) {
      await new Promise<void>((resolve) => {
        process.nextTick(resolve);
      });
      const due = this.#soon;
      this.#soon = [];
      for (const fire of due) fire();
      loops = due.length > 0 ? loops + 1 : 0;
      if (loops >= SIM_TIMERS_MAX) this.#fired = SIM_TIMERS_MAX;
      if (due.length > 0) continue;
      if (turns === 0) return;
      turns -= 1;
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

/** The answer to a dead process. Each caller gets a separate promise: a shared one would retain every waiter. */
export const never = (): Promise<never> => new Promise<never>(() => undefined);

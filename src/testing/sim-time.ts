// The time of a simulated world. It moves only when nothing else can happen; each process reads it through a clock of
// its own, which can be set wrong, held still or stopped for good. No timer of the platform is used.
import type { BridgeClock } from '../clock.ts';
import { SIM_TIMERS_MAX } from '../../schemas/limits.ts';

/** The clock of one process. */
export interface ProcessClock extends BridgeClock {
  /** Changes what the clock says by so many milliseconds; no time passes. */
  jump(ms: number): void;
  /** The process does not run for so long: what is due meanwhile happens afterwards. */
  stall(ms: number): void;
  /** The process is gone: nothing of it happens any more. */
  kill(): void;
  isDead(): boolean;
  /** Resolves as soon as the process runs; never when it is dead. */
  awake(): Promise<void>;
}

interface Timer {
  readonly atMs: number;
  readonly ring: () => void;
}

/** What the clocks say when a simulation begins, in milliseconds since 1970. */
const START_MS = 1_700_000_000_000;

/** Of so many times the world is at rest, the event loop turns once. */
const TURN_EVERY = 8;

export class SimTime {
  readonly #timers = new Set<Timer>();
  #passedMs = 0;
  #rung = 0;
  /** What is to happen once everything that is ready has. */
  #soon: (() => void)[] = [];
  #rests = 0;

  /** Milliseconds since the simulation began. */
  passedMs(): number {
    return this.#passedMs;
  }

  /** Calls `ring` once, after so many milliseconds; the answer calls it off. */
  after(ms: number, ring: () => void): () => void {
    const timer = { atMs: this.#passedMs + Math.max(0, ms), ring };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** More has happened than in any world that comes to an end. */
  isExhausted(): boolean {
    return this.#rung >= SIM_TIMERS_MAX;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Lets time pass until the condition holds; false when so many milliseconds have passed without it. */
  async run(done: () => boolean, untilMs: number): Promise<boolean> {
    await this.#rest();
    while (!done()) {
      const next = this.#next();
      if (next === null || next.atMs > untilMs || this.isExhausted()) return false;
      this.#rung += 1;
      this.#timers.delete(next);
      this.#passedMs = Math.max(this.#passedMs, next.atMs);
      next.ring();
      await this.#rest();
    }
    return true;
  }

  /** `onFault`: told what the process throws as its timers ring; without it, that is a fault of the simulator's own. */
  process(onFault?: (error: unknown) => void): ProcessClock {
    let offset = START_MS;
    let resumesAt = 0;
    let dead = false;
    const isDead = (): boolean => dead;
    const guarded = (ring: () => void): void => {
      if (dead) return;
      if (this.#passedMs < resumesAt) {
        this.after(resumesAt - this.#passedMs, () => guarded(ring));
        return;
      }
      try {
        ring();
      } catch (error) {
        if (onFault === undefined) throw error;
        onFault(error);
      }
    };
    return {
      now: () => Math.max(0, offset + Math.floor(this.#passedMs)),
      after: (ms, then) => {
        if (Number.isNaN(Math.max(0, ms))) throw new RangeError(`after: ${String(ms)} is no number of milliseconds`);
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

  // Of timers due at one time the first that was set rings first: a Set keeps the order.
  #next(): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) if (next === null || timer.atMs < next.atMs) next = timer;
    return next;
  }

  // Microtasks end before the next tick. A bridge that lets go of the event loop itself is served from time to time: a
  // turn of the loop costs as much as most of what happens in between.
  async #rest(): Promise<void> {
    this.#rests += 1;
    let turns = this.#rests % TURN_EVERY === 0 ? 1 : 0;
    let circles = 0;
    while (!this.isExhausted()) {
      await new Promise<void>((resolve) => {
        process.nextTick(resolve);
      });
      const due = this.#soon;
      this.#soon = [];
      for (const ring of due) ring();
      circles = due.length > 0 ? circles + 1 : 0;
      if (circles >= SIM_TIMERS_MAX) this.#rung = SIM_TIMERS_MAX;
      if (due.length > 0) continue;
      if (turns === 0) return;
      turns -= 1;
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }
}

/** What a dead process is told. Each has a promise of its own: one for all would keep whatever waits for it for ever. */
export const never = (): Promise<never> => new Promise<never>(() => undefined);

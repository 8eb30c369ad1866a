// Reports the times that sessions wait for (their `wake` effects) as `TimeReached` events. That needs only a clock and no
// bridge. A session that waits need not be in memory: one timer runs, for the earliest time in the journal's index, and a
// session is loaded when its time has come.
import { isLeft } from 'fp-ts/lib/Either.js';
import { nextDeadline } from '../../../reducers/deadlines.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import {
  LOADED_TOGETHER,
  RETRY_MS,
  WAKES_GIVEN_UP_MAX,
  WAKES_TOGETHER,
  WAKE_CHECK_MS_MAX,
} from '../../../schemas/limits.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Clock } from '../../clock.ts';
import type { Journal, Wake } from '../../journal/journal.ts';

/** `again`: to be reported again later. `refused`: the report can never be accepted, because the session cannot be loaded. */
export type Reported = 'done' | 'refused' | 'again';

export interface WakePorts {
  readonly clock: Clock;
  readonly journal: Pick<Journal, 'due'>;
  /** Loads the session and reports that the time has come. Never rejects. */
  readonly report: (session: SessionId, atMs: number) => Promise<Reported>;
}

interface Timer {
  readonly atMs: number;
  cancel: () => void;
}

export class Wakes {
  readonly #ports: WakePorts;
  #timer: Timer | null = null;
  #checking = false;
  /** A time came while times were being reported: they are read again. */
  #checkAgain = false;
  #closed = false;
  /** Sessions that cannot be loaded, with the time that was reported in vain. The oldest entry comes first. */
  readonly #givenUp = new Map<SessionId, number>();

  constructor(ports: WakePorts) {
    this.#ports = ports;
  }

  /** Reports the times that have come, and waits for the others; called once, when the engine is ready. */
  start(): void {
    void this.#check();
  }

  /** A session was loaded or has adopted events: the time that it waits for may have changed. */
  update(session: SessionId, state: SessionState): void {
    this.#givenUp.delete(session);
    const atMs = nextDeadline(state);
    if (atMs !== null) this.#checkAt(atMs);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** Checks at this time, or earlier when an earlier check is planned. */
  #checkAt(atMs: number): void {
    if (this.#closed || (this.#timer !== null && this.#timer.atMs <= atMs)) return;
    this.#timer?.cancel();
    this.#timer = { atMs, cancel: () => undefined };
    this.#wait(this.#timer);
  }

  #wait(timer: Timer): void {
    const { clock } = this.#ports;
    const inMs = Math.max(0, timer.atMs - clock.now());
    timer.cancel = clock.after(Math.min(inMs, WAKE_CHECK_MS_MAX), () => {
      if (this.#timer !== timer) return;
      if (clock.now() < timer.atMs) this.#wait(timer);
      else void this.#check();
    });
  }

  async #check(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#checking) {
      this.#checkAgain = true;
      return;
    }
    const { clock } = this.#ports;
    this.#checking = true;
    this.#checkAgain = false;
    const done = await this.#reportDue(clock.now());
    this.#checking = false;
    if (this.#checkAgain) this.#checkAt(clock.now());
    else if (!done) this.#checkAt(clock.now() + RETRY_MS);
  }

  /** Reports every time up to `untilMs`, then waits for the first one after it; false when something must be tried again. */
  async #reportDue(untilMs: number): Promise<boolean> {
    let done = true;
    let last: Wake | undefined;
    for (let more = true; more;) {
      const page = await this.#read(untilMs, WAKES_TOGETHER, last);
      if (page === null || this.#closed) return false;
      done = (await this.#reportEach(page)) && done;
      last = page.at(-1) ?? last;
      more = page.length === WAKES_TOGETHER;
    }
    const next = await this.#read(Number.MAX_SAFE_INTEGER, 1, last);
    if (next?.[0] !== undefined) this.#checkAt(next[0].at_ms);
    return done && next !== null;
  }

  async #reportEach(page: readonly Wake[]): Promise<boolean> {
    let done = true;
    const waiting = page.filter(({ session_id, at_ms }) => this.#givenUp.get(session_id) !== at_ms).values();
    const reportNext = async (): Promise<void> => {
      for (const { session_id, at_ms } of waiting) {
        const reported = this.#closed ? 'again' : await this.#ports.report(session_id, at_ms);
        if (reported === 'again') done = false;
        if (reported === 'refused') this.#giveUp(session_id, at_ms);
      }
    };
    await Promise.all(Array.from({ length: LOADED_TOGETHER }, reportNext));
    return done;
  }

  #giveUp(session: SessionId, atMs: number): void {
    this.#givenUp.set(session, atMs);
    const [oldest] = this.#givenUp.keys();
    if (this.#givenUp.size > WAKES_GIVEN_UP_MAX && oldest !== undefined) this.#givenUp.delete(oldest);
  }

  /** Null when storage does not answer. */
  async #read(untilMs: number, limit: number, after: Wake | undefined): Promise<readonly Wake[] | null> {
    try {
      const page = await this.#ports.journal.due(untilMs, limit, after)();
      return isLeft(page) ? null : page.right;
    } catch {
      // A journal that throws instead of refusing has an internal error, which must not stop the engine.
      return null;
    }
  }
}

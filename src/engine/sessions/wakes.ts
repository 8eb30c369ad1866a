// Reports the times that sessions wait for (their `wake` effects) as `TimeReached` events. That needs only a clock and no
// bridge. A session that waits need not be in memory: one timer runs, for the earliest time in the journal's index, and a
// session is loaded when its time has come.
import { isLeft } from 'fp-ts/lib/Either.js';
import { countedDeadline, nextDeadline } from '../../../reducers/deadlines.ts';
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
import { type TellFault, tellError } from '../faults.ts';
import type { SessionTimes } from '../edge/session-times.ts';

/** `again`: to be reported again later. `refused`: the report can never be accepted, because the session cannot be loaded. */
export type Reported = 'done' | 'refused' | 'again';

export interface WakePorts {
  readonly clock: Clock;
  readonly times: SessionTimes;
  readonly journal: Pick<Journal, 'due' | 'head'>;
  readonly tellFault: TellFault;
  /** Loads the session, which is then told to {@link Wakes.update}. Never rejects. */
  readonly load: (session: SessionId) => Promise<void>;
  /** Loads the session and reports that the time has come. Never rejects. */
  readonly report: (session: SessionId, atMs: number) => Promise<Reported>;
}

interface Timer {
  readonly atMs: number;
  /** When it looks at the clock, in time that passes: when the clock is moved ahead after it was set, that is too late. */
  looksMs: number;
  cancel: () => void;
}

/** The clock and the time that passes are read one after the other, and the clock in whole milliseconds. */
const READING_MS = 10;

/** A wait of a session that is ahead of the clock, in its own time. */
interface AheadWait {
  readonly atMs: number;
  readonly lastMs: number;
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
  /** The index of the journal would name these sessions only when the clock has caught up with them. */
  readonly #ahead = new Map<SessionId, AheadWait>();

  constructor(ports: WakePorts) {
    this.#ports = ports;
  }

  /** Reports the times that have come, and waits for the others; called once, when the engine is ready. */
  start(): void {
    void this.#check();
    void this.#findAhead();
  }

  /** A session was loaded or has adopted events: the time that it waits for may have changed. */
  update(session: SessionId, state: SessionState): void {
    this.#givenUp.delete(session);
    const { times, clock } = this.#ports;
    const lastMs = state.updated_at_ms;
    const counted = countedDeadline(state);
    if (counted === null) times.forget(session);
    else times.count(session, lastMs);
    if (counted !== null && times.isAhead(session)) {
      this.#ahead.set(session, { atMs: counted, lastMs });
      this.#checkAt(clock.now() + counted - times.now(session, lastMs));
    } else this.#ahead.delete(session);
    const atMs = nextDeadline(state);
    if (atMs !== null) this.#checkAt(atMs);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  /** Checks at this time, or earlier when an earlier check is planned. */
  #checkAt(atMs: number): void {
    const planned = this.#timer;
    if (
      this.#closed ||
      (planned !== null && planned.atMs <= atMs && planned.looksMs <= this.#looksMs(atMs) + READING_MS)
    )
      return;
    planned?.cancel();
    this.#timer = { atMs: Math.min(atMs, planned?.atMs ?? atMs), looksMs: Infinity, cancel: () => undefined };
    this.#wait(this.#timer);
  }

  #wait(timer: Timer): void {
    const { clock } = this.#ports;
    timer.looksMs = this.#looksMs(timer.atMs);
    timer.cancel = clock.after(this.#inMs(timer.atMs), () => {
      if (this.#timer !== timer) return;
      if (clock.now() < timer.atMs) this.#wait(timer);
      else void this.#check();
    });
  }

  #inMs(atMs: number): number {
    return Math.min(Math.max(0, atMs - this.#ports.clock.now()), WAKE_CHECK_MS_MAX);
  }

  #looksMs(atMs: number): number {
    return this.#ports.clock.elapsed() + this.#inMs(atMs);
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
    const ahead = await this.#reportAhead();
    const done = (await this.#reportDue(clock.now())) && ahead;
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

  /** Reports the waits that have ended in sessions that are ahead of the clock; false when one must be tried again. */
  async #reportAhead(): Promise<boolean> {
    const { times, clock } = this.#ports;
    const left = (session: SessionId, { atMs, lastMs }: AheadWait): number => atMs - times.now(session, lastMs);
    const ended = [...this.#ahead].filter(([session, wait]) => left(session, wait) <= 0);
    const done = await this.#reportEach(ended.map(([session_id, { atMs }]) => ({ session_id, at_ms: atMs })));
    for (const [session, wait] of this.#ahead) {
      const inMs = left(session, wait);
      if (inMs > 0) this.#checkAt(clock.now() + inMs);
    }
    return done;
  }

  /** Loads the sessions that wait in a time ahead of the clock; the times of the others come as the index says. */
  async #findAhead(): Promise<void> {
    const { clock, journal, load } = this.#ports;
    let last: Wake | undefined;
    for (let more = true; more && !this.#closed;) {
      const page: readonly Wake[] = (await this.#read(Number.MAX_SAFE_INTEGER, WAKES_TOGETHER, last)) ?? [];
      for (const { session_id, at_ms } of page) {
        if (this.#closed) return;
        if (at_ms <= clock.now() || this.#ahead.has(session_id)) continue;
        const head = await journal.head(session_id)();
        if (!isLeft(head) && head.right.card.last_activity_ms > clock.now()) await load(session_id);
      }
      last = page.at(-1);
      more = page.length === WAKES_TOGETHER;
    }
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
    this.#ahead.delete(session);
    this.#ports.times.forget(session);
    const [oldest] = this.#givenUp.keys();
    if (this.#givenUp.size > WAKES_GIVEN_UP_MAX && oldest !== undefined) this.#givenUp.delete(oldest);
  }

  /** Null when storage does not answer. */
  async #read(untilMs: number, limit: number, after: Wake | undefined): Promise<readonly Wake[] | null> {
    try {
      const page = await this.#ports.journal.due(untilMs, limit, after)();
      if (!isLeft(page)) return page.right;
      // A journal that closes with its engine is no fault.
      if (this.#closed) return null;
      this.#ports.tellFault({ session_id: null, doing: READING, reason: page.left.message });
      return null;
    } catch (error) {
      // A journal that throws instead of refusing has an internal error, which must not stop the engine.
      tellError(this.#ports.tellFault, null, READING, error);
      return null;
    }
  }
}

const READING = 'reading the times that sessions wait for';

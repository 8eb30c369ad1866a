// The time in each session. It is the engine's clock, but never before the last event: a session that was recorded while
// the machine's clock was ahead goes on from its last event. While such a session waits, its time advances as time passes,
// so that the wait lasts as long as was asked, and not until the clock has caught up.
import type { SessionId } from '../../../schemas/ids.ts';
import { SESSIONS_AHEAD_MAX } from '../../../schemas/limits.ts';
import type { Clock } from '../../clock.ts';

/** A time in a session, and when it was. */
interface Anchor {
  readonly atMs: number;
  readonly elapsedMs: number;
}

export class SessionTimes {
  readonly #clock: Pick<Clock, 'now' | 'elapsed'>;
  /** Of the sessions that wait and whose last event is ahead of the clock; the oldest entry comes first. */
  readonly #ahead = new Map<SessionId, Anchor>();

  constructor(clock: Pick<Clock, 'now' | 'elapsed'>) {
    this.#clock = clock;
  }

  /** The time now in a session whose last event is of `lastMs`. */
  now(session: SessionId, lastMs: number): number {
    return Math.max(lastMs, this.#clock.now(), this.#counted(session));
  }

  /** The session waits from now on, or still does. Its time advances from here when it is ahead of the clock. */
  count(session: SessionId, lastMs: number): void {
    const { now, elapsed } = { now: this.#clock.now(), elapsed: this.#clock.elapsed() };
    if (now >= lastMs && now >= this.#counted(session)) this.#ahead.delete(session);
    else if (this.#counted(session) < lastMs) {
      this.#ahead.set(session, { atMs: lastMs, elapsedMs: elapsed });
      const [oldest] = this.#ahead.keys();
      if (this.#ahead.size > SESSIONS_AHEAD_MAX && oldest !== undefined) this.#ahead.delete(oldest);
    }
  }

  /** The session waits for nothing. */
  forget(session: SessionId): void {
    this.#ahead.delete(session);
  }

  /** Whether its time is counted apart from the clock. */
  isAhead(session: SessionId): boolean {
    return this.#ahead.has(session);
  }

  #counted(session: SessionId): number {
    const anchor = this.#ahead.get(session);
    return anchor === undefined ? -Infinity : anchor.atMs + Math.floor(this.#clock.elapsed() - anchor.elapsedMs);
  }
}

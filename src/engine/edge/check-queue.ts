// The checks that wait for the other thread, of all sessions; a session waits for one at a time. A schema whose last check
// took too long waits behind the others, and gives up its place when all places are taken, so that few slow schemas do not
// delay the checks of every session.
import {
  SCHEMA_CHECK_MS_MAX,
  SCHEMA_CHECK_MS_MIN,
  SCHEMA_CHECKS_MS_MAX,
  SCHEMA_CHECKS_WAITING_MAX,
} from '../../../schemas/limits.ts';

export interface QueuedCheck {
  /** Whether the last check of its schema took too long. */
  readonly slow: boolean;
}

export class CheckQueue<Check extends QueuedCheck> {
  readonly #others: Check[] = [];
  readonly #slow: Check[] = [];
  #sinceSlow = 0;

  get size(): number {
    return this.#others.length + this.#slow.length;
  }

  /** Adds a check. Returns the one that has no place: this one, or a slow one that waits; null when there is room. */
  add(check: Check): Check | null {
    const isFull = this.size >= SCHEMA_CHECKS_WAITING_MAX;
    const displaced = isFull && !check.slow ? this.#slow.pop() : undefined;
    if (isFull && displaced === undefined) return check;
    (check.slow ? this.#slow : this.#others).push(check);
    return displaced ?? null;
  }

  /** Removes the next check. A slow one has its turn after some of the others. */
  next(): Check | undefined {
    const isSlowNext = this.#others.length === 0 || (this.#slow.length > 0 && this.#sinceSlow >= OTHERS_BEFORE_SLOW);
    this.#sinceSlow = isSlowNext ? 0 : this.#sinceSlow + 1;
    return (isSlowNext ? this.#slow : this.#others).shift();
  }
}

const OTHERS_BEFORE_SLOW = 8;

/** How long a check may take while so many others wait, in milliseconds. */
export const shareMs = (waiting: number): number =>
  Math.min(SCHEMA_CHECK_MS_MAX, Math.max(SCHEMA_CHECK_MS_MIN, Math.floor(SCHEMA_CHECKS_MS_MAX / (waiting + 1))));

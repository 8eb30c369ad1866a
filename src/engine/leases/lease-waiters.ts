// The lease requests that wait for an effect, and when each is served. Sessions adopt events in bursts, so waiting
// requests are served once after each burst, in rounds: one after the other, each from the sessions that changed before the
// round. A submit that also requests leases is served before the waiting requests.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { OwnerId, SessionId } from '../../../schemas/ids.ts';
import { LEASE_WAIT_MS_MAX, QUEUE_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { LeaseGrant, LeaseRequest } from '../../../schemas/wire.ts';
import type { Clock } from '../../clock.ts';

interface WaitOptions {
  readonly clock: Clock;
  /** Grants a request the effects of these sessions that it may have; none when it is over by the end. */
  readonly grant: (request: LeaseRequest, sessions: readonly SessionId[], isOver: () => boolean) => Promise<LeaseGrant>;
  readonly emptyGrant: () => LeaseGrant;
}

interface Waiter {
  readonly request: LeaseRequest;
  readonly answer: (grant: LeaseGrant) => void;
}

/** A request whose effects are searched for: it may come to wait. */
interface Search {
  readonly owner: OwnerId;
  /** The sessions that changed since it began. */
  readonly changed: Set<SessionId>;
  isDismissed: boolean;
}

export class LeaseWaiters {
  readonly #options: WaitOptions;
  readonly #waiters = new Set<Waiter>();
  /** How many submits that also request leases are under way in each session. */
  readonly #submitting = new Map<SessionId, number>();
  /** Sessions in which more may be granted than when the waiting requests were last served. */
  readonly #changed = new Set<SessionId>();
  readonly #searches = new Set<Search>();
  #isClosed = false;
  #round: Promise<void> | null = null;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** The round that is under way or due; null when none is. */
  round(): Promise<void> | null {
    return this.#round;
  }

  /** What the search finds, else what the request is granted while it waits; nothing that changes meanwhile is missed. */
  async searchOrWait(
    request: LeaseRequest,
    find: (isOver: () => boolean) => Promise<LeaseGrant>,
    signal?: AbortSignal,
  ): Promise<Either<Rejection, LeaseGrant>> {
    const search = { owner: request.owner, changed: new Set<SessionId>(), isDismissed: this.#isClosed };
    const isOver = (): boolean => search.isDismissed || signal?.aborted === true;
    let waiting: Promise<Either<Rejection, LeaseGrant>>;
    this.#searches.add(search);
    try {
      const granted = await find(isOver);
      if (granted.effects.length > 0 || request.wait_ms === 0 || isOver()) return right(granted);
      // It waits before the search ends.
      waiting = this.#wait(request, search.changed, signal);
    } finally {
      this.#searches.delete(search);
    }
    return await waiting;
  }

  /**
   * Resolves with the first grant that is not empty; with an empty one after `wait_ms`, or when aborted. It is served from
   * the sessions that changed during its search, too.
   */
  #wait(
    request: LeaseRequest,
    changed: ReadonlySet<SessionId>,
    signal?: AbortSignal,
  ): Promise<Either<Rejection, LeaseGrant>> {
    if (this.#waiters.size >= QUEUE_MAX) {
      const message = `${QUEUE_MAX} lease requests wait already; send this one again later`;
      return Promise.resolve(left(reject('queue_full', '', message)));
    }
    const { clock, emptyGrant } = this.#options;
    // Closed between the end of its search and now.
    if (this.#isClosed) return Promise.resolve(right(emptyGrant()));
    return new Promise((resolve) => {
      const done = (grant: LeaseGrant): void => {
        this.#waiters.delete(waiter);
        stop();
        signal?.removeEventListener('abort', giveUp);
        resolve(right(grant));
      };
      const giveUp = (): void => done(emptyGrant());
      const waiter: Waiter = { request, answer: done };
      const stop = clock.after(Math.min(request.wait_ms, LEASE_WAIT_MS_MAX), giveUp);
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
      for (const session of changed) this.serve(session);
    });
  }

  /** Answers every waiting request of an owner with nothing. */
  dismiss(owner: OwnerId): void {
    for (const { request, answer } of this.#waiters) if (request.owner === owner) answer(this.#options.emptyGrant());
    for (const search of this.#searches) if (search.owner === owner) search.isDismissed = true;
  }

  /** Until {@link endSubmit}, {@link serve} skips this session. */
  beginSubmit(session: SessionId): void {
    this.#submitting.set(session, (this.#submitting.get(session) ?? 0) + 1);
  }

  endSubmit(session: SessionId): void {
    const submitting = (this.#submitting.get(session) ?? 1) - 1;
    if (submitting === 0) this.#submitting.delete(session);
    else this.#submitting.set(session, submitting);
  }

  /** Serves the waiting requests from this session, unless a submit in it is about to be served. */
  serve(session: SessionId): void {
    if (!this.#submitting.has(session)) this.serveSoon(session);
  }

  /** Serves the waiting requests from this session after the current burst of events. */
  serveSoon(session: SessionId): void {
    for (const { changed } of this.#searches) changed.add(session);
    if (this.#waiters.size === 0) return;
    this.#changed.add(session);
    this.#serveLater();
  }

  /** Whether a request of this owner waits, or is searched for. */
  isWaiting(owner: OwnerId): boolean {
    for (const { request } of this.#waiters) if (request.owner === owner) return true;
    for (const search of this.#searches) if (search.owner === owner) return true;
    return false;
  }

  /** How many requests wait. */
  count(): number {
    return this.#waiters.size;
  }

  /** Answers every waiting request with nothing, and those that come. */
  close(): void {
    this.#isClosed = true;
    for (const search of this.#searches) search.isDismissed = true;
    for (const { answer } of this.#waiters) answer(this.#options.emptyGrant());
  }

  #serveLater(): void {
    // What changes during a round is served in the next one.
    this.#round ??= Promise.resolve()
      .then(() => this.#serveAll())
      .finally(() => {
        this.#round = null;
        if (this.#changed.size > 0) this.#serveLater();
      });
  }

  async #serveAll(): Promise<void> {
    const changed = Array.from(this.#changed);
    this.#changed.clear();
    for (const waiter of Array.from(this.#waiters)) {
      const isOver = (): boolean => !this.#waiters.has(waiter);
      if (isOver()) continue;
      // A submit that has begun meanwhile is served before.
      const sessions = changed.filter((session) => !this.#submitting.has(session));
      const granted = await this.#options.grant(waiter.request, sessions, isOver);
      if (granted.effects.length > 0) waiter.answer(granted);
    }
  }
}

// The lease requests that wait for an effect, and when each is served. Sessions adopt events in bursts, so waiting
// requests are served once after each burst. A submit that also requests leases is served before the waiting requests.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { OwnerId, SessionId } from '../../../schemas/ids.ts';
import { LEASE_WAIT_MS_MAX, QUEUE_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { LeaseGrant, LeaseRequest } from '../../../schemas/wire.ts';
import type { Clock } from '../../clock.ts';

interface WaitOptions {
  readonly clock: Clock;
  /** Grants a request the effects of these sessions that it may have. */
  readonly grant: (request: LeaseRequest, sessions: readonly SessionId[]) => LeaseGrant;
  readonly emptyGrant: () => LeaseGrant;
}

interface Waiter {
  readonly request: LeaseRequest;
  readonly answer: (grant: LeaseGrant) => void;
}

export class LeaseWaiters {
  readonly #options: WaitOptions;
  readonly #waiters = new Set<Waiter>();
  /** How many submits that also request leases are under way in each session. */
  readonly #submitting = new Map<SessionId, number>();
  /** Sessions in which more may be granted than when the waiting requests were last served. */
  readonly #changed = new Set<SessionId>();
  #serving = false;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Resolves with the first grant that is not empty; with an empty one after `wait_ms`, or when aborted. */
  wait(request: LeaseRequest, signal?: AbortSignal): Promise<Either<Rejection, LeaseGrant>> {
    if (this.#waiters.size >= QUEUE_MAX) {
      const message = `${QUEUE_MAX} lease requests wait already; send this one again later`;
      return Promise.resolve(left(reject('queue_full', '', message)));
    }
    const { clock, emptyGrant } = this.#options;
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
    });
  }

  /** Answers every waiting request of an owner with nothing. */
  dismiss(owner: OwnerId): void {
    for (const { request, answer } of this.#waiters) if (request.owner === owner) answer(this.#options.emptyGrant());
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
    if (this.#waiters.size === 0) return;
    this.#changed.add(session);
    if (this.#serving) return;
    this.#serving = true;
    queueMicrotask(() => this.#serveNow());
  }

  /** How many requests wait. */
  count(): number {
    return this.#waiters.size;
  }

  close(): void {
    for (const { answer } of this.#waiters) answer(this.#options.emptyGrant());
  }

  #serveNow(): void {
    this.#serving = false;
    const changed = Array.from(this.#changed);
    this.#changed.clear();
    for (const { request, answer } of Array.from(this.#waiters)) {
      const granted = this.#options.grant(request, changed);
      if (granted.effects.length > 0) answer(granted);
    }
  }
}

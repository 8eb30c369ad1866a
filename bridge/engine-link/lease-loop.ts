// Asks the engine for leases whenever this bridge can hold more, until the signal aborts.
import { isLeft } from 'fp-ts/lib/Either.js';
import { BACKOFF_MS_BASE, LEASE_EFFECTS_MAX } from '../../schemas/limits.ts';
import type { LeaseGrant, LeaseRequest } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import type { ReceivedGrant } from './admit-grants.ts';
import type { HeldLeases } from './held-leases.ts';
import type { Link } from './link.ts';

interface LeaseLoopOptions {
  readonly client: EngineClient;
  readonly clock: BridgeClock;
  readonly link: Link;
  readonly leases: HeldLeases;
  readonly signal: AbortSignal;
  /** The request for at most `max` effects; `ttlMs` is how long leases last, null while that is unknown. */
  readonly requestFor: (max: number, ttlMs: number | null) => LeaseRequest;
  /** Returns how many of the effects were new. */
  readonly admit: (received: readonly ReceivedGrant[]) => number;
}

/** Resolves when the signal aborts. Throws when the engine refuses to lease to this bridge. */
export async function leaseUntilAborted(options: LeaseLoopOptions): Promise<void> {
  const { client, clock, link, leases, signal, requestFor, admit } = options;
  while (!signal.aborted) {
    const capacity = leases.capacity();
    if (capacity <= 0) {
      await leases.whenCapacity(signal);
      continue;
    }
    const request = requestFor(Math.min(capacity, LEASE_EFFECTS_MAX), leases.ttlMs());
    let askedAtMs = clock.now();
    let reserved = request.max;
    let newEffects = 0;
    // Over a stream, every grant but the last is pushed.
    const onGrant = (grant: LeaseGrant): void => {
      if (signal.aborted) return;
      const granted = Math.min(grant.effects.length, reserved);
      reserved -= granted;
      leases.unreserve(granted);
      newEffects += admit([{ grant, askedAtMs }]);
    };
    const send = () => {
      askedAtMs = clock.now();
      return client.lease({ ...request, max: Math.max(1, reserved) }, signal, onGrant);
    };
    leases.reserve(request.max);
    const grant = await link.ask('lease', send, signal);
    leases.unreserve(reserved);
    if (signal.aborted) return;
    if (isLeft(grant)) throw new Error(`the engine refuses to lease: ${grant.left.code}: ${grant.left.message}`);
    newEffects += admit([{ grant: grant.right, askedAtMs }]);
    // Prevents a busy loop when the engine keeps answering immediately with nothing new.
    if (newEffects === 0 && request.wait_ms > 0 && clock.now() - askedAtMs < BACKOFF_MS_BASE)
      await sleep(clock, BACKOFF_MS_BASE, signal);
  }
}

// The leases this bridge holds, renewed together by heartbeats. When a lease is lost, its work is stopped, because another
// bridge may hold the effect now.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { LEASES_HELD_MAX, RELEASE_MS_MAX } from '../../schemas/limits.ts';
import type { Heartbeat, HeartbeatReply, LeaseKey } from '../../schemas/wire.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import type { Log } from '../log.ts';
import { newByEffect } from './by-effect.ts';
import { newHeartbeatTimer } from './heartbeat-timer.ts';
import { newWakeUp } from './wake-up.ts';

interface Lease {
  readonly key: Required<LeaseKey>;
  readonly onLost: () => void;
  /** When the last request was sent whose answer confirmed that this bridge holds it. */
  confirmedAtMs: number;
}

/** An effect as it was granted. */
export interface Leased<E extends Effect = Effect> {
  readonly effect: E;
  readonly epoch: number;
  /** When the request that the grant answers was sent. */
  readonly askedAtMs: number;
}

export interface HeldLeases {
  /** Returns false when the lease is held already: then only its epoch changes. */
  hold(leased: Leased, onLost: () => void): boolean;
  /** The epoch to report under, also after the lease was lost. */
  epochOf(key: LeaseKey): number | undefined;
  /** The engine has accepted a report on the effect that was sent at this time. */
  confirm(key: LeaseKey, sentAtMs: number): void;
  /** Whether the lease cannot have expired yet. Needed because a suspended process is not informed of an expiry. */
  isFresh(key: LeaseKey): boolean;
  end(key: LeaseKey): void;
  /** Work that was stopped because its lease was lost has ended, and reports nothing more. */
  forgetLost(key: LeaseKey): void;
  /** How many more leases may be held or reserved. */
  capacity(): number;
  /** Reserves capacity for leases that are requested. */
  reserve(count: number): void;
  unreserve(count: number): void;
  /** Resolves when capacity may have become free, or the signal aborts. */
  whenCapacity(signal: AbortSignal): Promise<void>;
  setTtl(ttlMs: number): void;
  /** How long leases last; null until the engine has stated it. */
  ttlMs(): number | null;
  /** Sends three heartbeats in the life of a lease while any is held, until the signal aborts. */
  heartbeat(signal: AbortSignal): Promise<void>;
  /** Gives back all leases, also those whose grant never arrived. Resolves after at most `RELEASE_MS_MAX`. */
  release(): Promise<void>;
}

interface HeldLeasesOptions {
  readonly client: EngineClient;
  readonly owner: OwnerId;
  readonly clock: BridgeClock;
  readonly log: Log;
}

export function newHeldLeases({ client, owner, clock, log }: HeldLeasesOptions): HeldLeases {
  const held = newByEffect<Lease>();
  /** Epochs of lost leases whose work has not ended. */
  const lost = newByEffect<number>();
  const capacityFreed = newWakeUp();
  const leaseHeld = newWakeUp();
  let reserved = 0;
  const timer = newHeartbeatTimer(clock);

  function end(key: LeaseKey): void {
    if (lost.size() > 0) lost.delete(key);
    if (held.delete(key)) capacityFreed.wake();
  }

  function confirm(key: LeaseKey, sentAtMs: number): void {
    const lease = held.get(key);
    if (lease !== undefined) lease.confirmedAtMs = Math.max(lease.confirmedAtMs, sentAtMs);
  }

  async function sendHeartbeat(): Promise<void> {
    const leases = held.values().map(({ key }) => key);
    if (leases.length === 0) return;
    const sentAtMs = clock.now();
    // A heartbeat without an answer is not repeated: the next one is sent on time in any case.
    const answer = await answerTo(client, { owner, leases });
    if (answer === null) return;
    const isLost = newByEffect<true>();
    for (const key of answer.lost) isLost.set(key, true);
    for (const key of leases) if (isLost.get(key) === undefined) confirm(key, sentAtMs);
    for (const key of answer.lost) lose(key);
  }

  function lose(key: LeaseKey): void {
    const lease = held.get(key);
    // If the effect was granted again after the heartbeat was sent, the lost lease is an earlier one.
    if (lease === undefined || (key.epoch ?? lease.key.epoch) !== lease.key.epoch) return;
    log({ event: 'lease_lost', session_id: key.session_id, effect_id: key.effect_id });
    end(key);
    lost.set(key, lease.key.epoch);
    lease.onLost();
  }

  return {
    hold({ effect: { session_id, effect_id }, epoch, askedAtMs }, onLost) {
      const key = { session_id, effect_id, epoch };
      const known = held.get(key);
      held.set(key, { key, onLost: known?.onLost ?? onLost, confirmedAtMs: askedAtMs });
      leaseHeld.wake();
      return known === undefined;
    },
    confirm,
    isFresh(key) {
      const ttlMs = timer.ttlMs();
      const lease = held.get(key);
      return lease !== undefined && (ttlMs === null || clock.now() - lease.confirmedAtMs < ttlMs);
    },
    epochOf: (key) => held.get(key)?.key.epoch ?? lost.get(key),
    end,
    forgetLost: (key) => void lost.delete(key),
    capacity: () => LEASES_HELD_MAX - held.size() - reserved,
    reserve: (count) => void (reserved += count),
    unreserve(count) {
      reserved -= count;
      capacityFreed.wake();
    },
    whenCapacity: (signal) => capacityFreed.wait(signal),
    setTtl: (ttlMs) => timer.setTtl(ttlMs),
    ttlMs: () => timer.ttlMs(),
    async heartbeat(signal) {
      while (!signal.aborted) {
        if (held.size() === 0) await leaseHeld.wait(signal);
        else if (await timer.untilDue(signal)) void sendHeartbeat();
      }
    },
    release: () => release({ client, owner, clock }),
  };
}

async function answerTo(client: EngineClient, request: Heartbeat): Promise<HeartbeatReply | null> {
  try {
    const reply = await client.heartbeat(request)();
    return isLeft(reply) ? null : reply.right;
  } catch {
    return null;
  }
}

async function release({ client, owner, clock }: Omit<HeldLeasesOptions, 'log'>): Promise<void> {
  const released = client
    .release({ owner, leases: [], all: true })()
    .catch(() => null);
  await Promise.race([released, sleep(clock, RELEASE_MS_MAX)]);
}

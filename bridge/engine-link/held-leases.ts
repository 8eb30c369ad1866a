// The leases this bridge holds, kept alive together. A lease that is lost takes its work with it: somebody else may
// have it now.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { EffectId, OwnerId, SessionId } from '../../schemas/ids.ts';
import { LEASES_HELD_MAX, LEASE_TTL_MS, RELEASE_MS_MAX } from '../../schemas/limits.ts';
import type { LeaseKey } from '../../schemas/wire.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import type { Log } from '../log.ts';

/** One lease: ended by whoever did the work, or lost. */
interface Lease {
  readonly key: Required<LeaseKey>;
  readonly onLost: () => void;
  /** When the last request was sent whose answer says that it is this bridge's. */
  confirmedAtMs: number;
}

/** An effect as it was granted. */
export interface Leased<E extends Effect = Effect> {
  readonly effect: E;
  readonly epoch: number;
  /** When the request was sent that it answers. */
  readonly askedAtMs: number;
}

export interface HeldLeases {
  /** False when it is held already: then only its epoch changes. */
  hold(leased: Leased, onLost: () => void): boolean;
  /** The epoch under which work on it is reported, also when the lease was lost meanwhile. */
  epochOf(key: LeaseKey): number | undefined;
  has(key: LeaseKey): boolean;
  /** The engine has taken a report on it that was sent at this time. */
  confirm(key: LeaseKey, sentAtMs: number): void;
  /** Whether it is sure to last still. A process that was held up may be the last to know that it does not. */
  isFresh(key: LeaseKey): boolean;
  end(key: LeaseKey): void;
  /** Work that was stopped because its lease was lost has come to its end, and reports nothing any more. */
  forgetLost(key: LeaseKey): void;
  /** How many more may be held, beside those that are asked for. */
  room(): number;
  /** So many are asked for, and may come. */
  reserve(count: number): void;
  unreserve(count: number): void;
  /** Answers when there is room again, or the signal aborts. */
  roomMade(signal: AbortSignal): Promise<void>;
  setTtl(ttlMs: number): void;
  /** How long leases last; null while no answer has said it. */
  ttlMs(): number | null;
  /** Beats three times in the life of a lease while one is held, until the signal aborts. */
  beat(signal: AbortSignal): Promise<void>;
  /** Gives all of them back, also those whose grant did not arrive here, if the engine is there. */
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
  /** Epochs of leases that were lost and whose work has not come to its end. */
  const lost = newByEffect<number>();
  const waiting = newWaiting();
  /** Those who wait for the first lease to be held. */
  const begun = newWaiting();
  const reserved = newReserved(() => waiting.wake());
  const rhythm = newRhythm(clock);

  function end(key: LeaseKey): void {
    if (lost.size() > 0) lost.delete(key);
    if (!held.delete(key)) return;
    waiting.wake();
  }

  function confirm(key: LeaseKey, sentAtMs: number): void {
    const lease = held.get(key);
    if (lease !== undefined) lease.confirmedAtMs = Math.max(lease.confirmedAtMs, sentAtMs);
  }

  async function beatOnce(): Promise<void> {
    const leases = held.values().map(({ key }) => key);
    if (leases.length === 0) return;
    const sentAtMs = clock.now();
    // A beat that is not answered is made up for by the next one, which does not wait for it.
    const ask = async () => await client.heartbeat({ owner, leases })();
    const reply = await ask().catch(() => null);
    if (reply === null || isLeft(reply)) return;
    const gone = newByEffect<true>();
    for (const key of reply.right.lost) gone.set(key, true);
    for (const key of leases) if (gone.get(key) === undefined) confirm(key, sentAtMs);
    for (const key of reply.right.lost) lose(key);
  }

  function lose(key: LeaseKey): void {
    const lease = held.get(key);
    // Granted anew while this was asked: then it is not the one that was lost.
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
      begun.wake();
      return known === undefined;
    },
    confirm,
    isFresh(key) {
      const ttlMs = rhythm.ttlMs();
      const lease = held.get(key);
      return lease !== undefined && (ttlMs === null || clock.now() - lease.confirmedAtMs < ttlMs);
    },
    epochOf: (key) => held.get(key)?.key.epoch ?? lost.get(key),
    has: (key) => held.get(key) !== undefined,
    end,
    forgetLost: (key) => void lost.delete(key),
    room: () => LEASES_HELD_MAX - held.size() - reserved.count(),
    reserve: reserved.add,
    unreserve: reserved.remove,
    roomMade: (signal) => waiting.wait(signal),
    setTtl: (ttlMs) => rhythm.setTtl(ttlMs),
    ttlMs: () => rhythm.ttlMs(),
    async beat(signal) {
      while (!signal.aborted) {
        if (held.size() === 0) await begun.wait(signal);
        else if (await rhythm.isDue(signal)) void beatOnce();
      }
    },
    release: () => release({ client, owner, clock }),
  };
}

async function release({ client, owner, clock }: Omit<HeldLeasesOptions, 'log'>): Promise<void> {
  const given = client
    .release({ owner, leases: [], all: true })()
    .catch(() => null);
  await Promise.race([given, sleep(clock, RELEASE_MS_MAX)]);
}

/** Room that is kept for what is asked for. */
function newReserved(onRoom: () => void) {
  let count = 0;
  return {
    count: () => count,
    add: (more: number): void => {
      count += more;
    },
    remove: (fewer: number): void => {
      count -= fewer;
      onRoom();
    },
  };
}

/** Values by session and effect: ids of two kinds that are never joined into one name. */
function newByEffect<T>() {
  const sessions = new Map<SessionId, Map<EffectId, T>>();
  let size = 0;
  return {
    size: () => size,
    get: ({ session_id, effect_id }: LeaseKey): T | undefined => sessions.get(session_id)?.get(effect_id),
    set({ session_id, effect_id }: LeaseKey, value: T): void {
      const effects = sessions.get(session_id) ?? new Map<EffectId, T>();
      if (effects.size === 0) sessions.set(session_id, effects);
      size -= effects.size;
      effects.set(effect_id, value);
      size += effects.size;
    },
    delete({ session_id, effect_id }: LeaseKey): boolean {
      const effects = sessions.get(session_id);
      if (effects?.delete(effect_id) !== true) return false;
      if (effects.size === 0) sessions.delete(session_id);
      size -= 1;
      return true;
    },
    values: (): readonly T[] => [...sessions.values()].flatMap((effects) => [...effects.values()]),
  };
}

interface Rhythm {
  setTtl(ttlMs: number): void;
  /** Null while nobody has said it. */
  ttlMs(): number | null;
  /** Waits for the next beat; false when the signal came first, or leases turned out to last otherwise. */
  isDue(signal: AbortSignal): Promise<boolean>;
}

function newRhythm(clock: BridgeClock): Rhythm {
  let ttlMs: number | null = null;
  let retime = (): void => undefined;
  return {
    ttlMs: () => ttlMs,
    // An engine whose leases are shorter than was thought is not kept waiting for the beat that was planned.
    setTtl(next) {
      if (next === ttlMs) return;
      ttlMs = next;
      retime();
    },
    isDue: (signal) =>
      new Promise((resolve) => {
        const end = (due: boolean): void => {
          signal.removeEventListener('abort', giveUp);
          cancel();
          retime = () => undefined;
          resolve(due);
        };
        const giveUp = (): void => end(false);
        retime = giveUp;
        const cancel = clock.after(Math.max(1, Math.floor((ttlMs ?? LEASE_TTL_MS) / 3)), () => end(true));
        if (signal.aborted) giveUp();
        else signal.addEventListener('abort', giveUp);
      }),
  };
}

/** Those who wait until they are woken, all at once, or their signal aborts. */
function newWaiting() {
  let wakers: (() => void)[] = [];
  return {
    wake(): void {
      const waiting = wakers;
      wakers = [];
      for (const wake of waiting) wake();
    },
    wait: (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          resolve();
        };
        if (signal.aborted) resolve();
        signal.addEventListener('abort', done);
        wakers.push(done);
      }),
  };
}

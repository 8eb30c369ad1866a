// Leases: who is doing what, until when (DESIGN section 6). They live in memory only: what is owed follows from state,
// and after a restart a bridge takes its leases up again with its next heartbeat.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { callStateOf } from '../../reducers/batch-index.ts';
import type { Effect } from '../../schemas/effect.ts';
import type { EventOfKind, Ingress, IngressEvent } from '../../schemas/event.ts';
import { type EffectId, type OwnerId, type SessionId, brand } from '../../schemas/ids.ts';
import { LEASE_WAIT_MS_MAX, QUEUE_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Heartbeat, HeartbeatReply, LeaseGrant, LeaseKey, LeaseRequest } from '../../schemas/wire.ts';
import { effects } from '../core/effects.ts';
import type { Clock } from './clock.ts';
import { type Lease, newGrant, reportOn } from './lease-grant.ts';
import type { LiveSession } from './session.ts';

interface Waiter {
  readonly request: LeaseRequest;
  readonly answer: (grant: LeaseGrant) => void;
}

export interface LeaseOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  /** A call that was recorded as started has lost its bridge. */
  readonly onCallLost: (
    session: LiveSession,
    lost: Omit<EventOfKind<'LeaseExpired'>, 'v' | 'at_ms' | 'event_id'>,
  ) => void;
}

export class LeaseTable {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #onCallLost: LeaseOptions['onCallLost'];
  readonly #sessions = new Map<SessionId, LiveSession>();
  readonly #held = new Map<SessionId, Map<EffectId, Lease>>();
  readonly #waiters = new Set<Waiter>();
  #stopSweep: (() => void) | null = null;
  #serving = false;

  constructor({ clock, ttlMs, onCallLost }: LeaseOptions) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#onCallLost = onCallLost;
  }

  /** Hands out effects, waiting for the first as long as the request says. */
  lease(request: LeaseRequest, signal?: AbortSignal): Promise<Either<Rejection, LeaseGrant>> {
    const granted = this.#grant(request);
    if (granted.effects.length > 0 || request.wait_ms === 0) return Promise.resolve(right(granted));
    if (this.#waiters.size >= QUEUE_MAX) {
      return Promise.resolve(left(reject('queue_full', '', 'too many bridges wait')));
    }
    return new Promise((resolve) => {
      const done = (grant: LeaseGrant): void => {
        this.#waiters.delete(waiter);
        stop();
        signal?.removeEventListener('abort', giveUp);
        resolve(right(grant));
      };
      const giveUp = (): void => done(newGrant(request, this.#ttlMs).result());
      const waiter: Waiter = { request, answer: done };
      const stop = this.#clock.after(Math.min(request.wait_ms, LEASE_WAIT_MS_MAX), giveUp);
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
    });
  }

  heartbeat({ owner, leases }: Heartbeat): HeartbeatReply {
    return { lost: leases.filter((key) => !this.#extend(key, owner)) };
  }

  /** Gives leases back: at once, as if they had expired. */
  release({ owner, leases }: Heartbeat): HeartbeatReply {
    for (const { session_id, effect_id } of leases) {
      const lease = this.#held.get(session_id)?.get(effect_id);
      if (lease?.owner === owner) this.#expire(session_id, effect_id, lease);
    }
    this.#serve();
    return { lost: leases };
  }

  /** Null when this owner may report this, else `stale_lease`. */
  refuseReport(session: SessionId, ingress: Ingress, owner: OwnerId): Rejection | null {
    const report = reportOn(ingress);
    const lease = report === null ? undefined : this.#held.get(session)?.get(report.effect);
    if (lease === undefined || lease.owner === owner) return null;
    return reject('stale_lease', '/owner', `the lease on ${lease.effect.effect_id} is held by somebody else now`);
  }

  /** A session was loaded, or has adopted events: what it owes may have changed. */
  update(session: LiveSession, events: readonly IngressEvent[]): void {
    this.#dropAnswered(session, events);
    if (session.state().run === null) this.#sessions.delete(session.id);
    else {
      this.#sessions.set(session.id, session);
      this.#adoptRunning(session);
    }
    this.#serve();
  }

  forget(session: LiveSession): void {
    this.#sessions.delete(session.id);
    this.#held.delete(session.id);
  }

  close(): void {
    this.#stopSweep?.();
    for (const waiter of this.#waiters) waiter.answer(newGrant(waiter.request, this.#ttlMs).result());
  }

  #grant(request: LeaseRequest): LeaseGrant {
    const grant = newGrant(request, this.#ttlMs);
    for (const [id, session] of this.#sessions) {
      if (request.sessions !== undefined && !request.sessions.includes(id)) continue;
      const held = this.#held.get(id) ?? new Map<EffectId, Lease>();
      for (const effect of grant.take(session.state(), held)) this.#hold(id, request.owner, effect);
      if (grant.full()) break;
    }
    return grant.result();
  }

  // Adoptions come in bursts; waiting bridges are served once after each burst.
  #serve(): void {
    if (this.#serving || this.#waiters.size === 0) return;
    this.#serving = true;
    queueMicrotask(() => {
      this.#serving = false;
      for (const waiter of Array.from(this.#waiters)) {
        const granted = this.#grant(waiter.request);
        if (granted.effects.length > 0) waiter.answer(granted);
      }
    });
  }

  #hold(id: SessionId, owner: OwnerId, effect: Effect): void {
    const leases = this.#held.get(id) ?? new Map<EffectId, Lease>();
    this.#held.set(id, leases);
    leases.set(effect.effect_id, { owner, effect, deadlineMs: this.#clock.now() + this.#ttlMs });
    this.#stopSweep ??= this.#clock.after(this.#ttlMs / 4, () => this.#sweep());
  }

  #drop(id: SessionId, effect: EffectId): void {
    const leases = this.#held.get(id);
    leases?.delete(effect);
    if (leases?.size === 0) this.#held.delete(id);
  }

  #dropAnswered(session: LiveSession, events: readonly IngressEvent[]): void {
    const leases = this.#held.get(session.id);
    if (leases === undefined) return;
    const reports = events.map((event) => reportOn(event));
    for (const report of reports) if (report?.answers === true) this.#drop(session.id, report.effect);
    // Whatever is not a plain report may have withdrawn any effect.
    if (!reports.includes(null) && session.state().run !== null) return;
    const owed = new Set(effects(session.state()).map((effect) => effect.effect_id));
    for (const id of Array.from(leases.keys())) if (!owed.has(id)) this.#drop(session.id, id);
  }

  #sweep(): void {
    this.#stopSweep = null;
    const now = this.#clock.now();
    for (const [id, leases] of Array.from(this.#held)) {
      for (const [effectId, lease] of Array.from(leases)) {
        if (lease.deadlineMs <= now) this.#expire(id, effectId, lease);
      }
    }
    if (this.#held.size > 0) this.#stopSweep ??= this.#clock.after(this.#ttlMs / 4, () => this.#sweep());
    this.#serve();
  }

  #expire(id: SessionId, effectId: EffectId, { effect }: Lease): void {
    this.#drop(id, effectId);
    const session = this.#sessions.get(id);
    const batch = session?.state().active_tool_batch ?? null;
    if (session === undefined || batch === null || effect.kind !== 'tool.call') return;
    if (callStateOf(batch, effect.call_id)?.status !== 'running') return;
    const { batch_id, call_id, attempt } = effect;
    // Held until the event is recorded, so that nobody starts the call meanwhile.
    this.#hold(id, ENGINE_OWNER, effect);
    this.#onCallLost(session, { kind: 'LeaseExpired', batch_id, call_id, attempt });
  }

  #extend({ session_id, effect_id }: LeaseKey, owner: OwnerId): boolean {
    const lease = this.#held.get(session_id)?.get(effect_id);
    if (lease !== undefined) {
      if (lease.owner !== owner) return false;
      lease.deadlineMs = this.#clock.now() + this.#ttlMs;
      return true;
    }
    // After a restart of the engine nobody holds anything, and whoever is at it takes it up again.
    const session = this.#sessions.get(session_id);
    const effect = session === undefined ? undefined : effects(session.state()).find((e) => e.effect_id === effect_id);
    if (effect === undefined) return false;
    this.#hold(session_id, owner, effect);
    return true;
  }

  // A call that is recorded as running belongs to whoever started it, also after a restart of the engine.
  #adoptRunning(session: LiveSession): void {
    const batch = session.state().active_tool_batch;
    if (batch === null || batch.running === 0 || this.#held.has(session.id)) return;
    for (const effect of effects(session.state())) {
      if (effect.kind !== 'tool.call') continue;
      const call = callStateOf(batch, effect.call_id);
      if (call?.status === 'running' && call.owner !== null) this.#hold(session.id, call.owner, effect);
    }
  }
}

/** Holds what nobody may take until the engine has recorded that its bridge was lost. */
const ENGINE_OWNER = brand<'OwnerId'>('refold:engine');

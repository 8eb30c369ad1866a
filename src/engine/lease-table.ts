// Leases: who is doing what, and whether they are still at it (DESIGN section 6). They live in memory only: what is
// owed follows from state, and after a restart a bridge takes its leases up again with its next heartbeat. A call
// that is recorded as running is held, in every phase of its run, until it settles or its bridge falls silent.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { EventOfKind, Ingress, IngressEvent } from '../../schemas/event.ts';
import type { EffectId, OwnerId, SessionId } from '../../schemas/ids.ts';
import { LEASE_WAIT_MS_MAX, QUEUE_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type {
  Heartbeat,
  HeartbeatReply,
  LeaseGrant,
  LeaseKey,
  LeaseRequest,
  Release,
  Submit,
} from '../../schemas/wire.ts';
import type { Clock } from '../clock.ts';
import type { Epochs } from './epochs.ts';
import { NewestEpochs } from './newest-epochs.ts';
import { FreeSessions } from './free-sessions.ts';
import { type Asked, type Granted, type Lease, newGrant } from './lease-grant.ts';
import { Owed, mayRest } from './owed.ts';
import { reportOn } from './reports.ts';
import { type Claimant, type Standing, standingOf } from './standing.ts';

type LeaseExpired = Omit<EventOfKind<'LeaseExpired'>, 'v' | 'at_ms' | 'event_id'>;

export interface LeaseOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly epochs: Epochs;
  /** A call that was recorded as started has lost its bridge. Called again after another ttl while it goes on. */
  readonly onCallLost: (session: SessionId, lost: LeaseExpired) => void;
}

interface Waiter {
  readonly request: LeaseRequest;
  readonly answer: (grant: LeaseGrant) => void;
}

/** Sweeps in the life of a lease. They count time, not the clock, which may jump. */
const SWEEPS_PER_TTL = 4;

export class LeaseTable {
  readonly #options: LeaseOptions;
  /** What every session with a live run, or with an undo that waits, owes. */
  readonly #owed = new Map<SessionId, Owed>();
  /** Of all other sessions, everything is held. */
  readonly #free = new FreeSessions();
  readonly #held = new Map<SessionId, Map<EffectId, Lease>>();
  readonly #newestEpochs = new NewestEpochs();
  readonly #waiters = new Set<Waiter>();
  /** Submits under way that ask for what they lead to. */
  readonly #submitting = new Map<SessionId, number>();
  /** Sessions in which more may be had than when the waiting bridges were last served. */
  readonly #changed = new Set<SessionId>();
  #stopSweep: (() => void) | null = null;
  #serving = false;
  #closed = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Hands out effects, waiting for the first as long as the request says. An aborted request gets nothing. */
  lease(request: LeaseRequest, signal?: AbortSignal): Promise<Either<Rejection, LeaseGrant>> {
    if (signal?.aborted === true) return Promise.resolve(right(this.#nothing()));
    const { sessions } = request;
    const free = sessions === undefined ? this.#free.candidates(request) : undefined;
    const granted = this.#grant(request, sessions ?? free ?? [], free);
    if (granted.effects.length > 0 || request.wait_ms === 0) return Promise.resolve(right(granted));
    if (this.#waiters.size >= QUEUE_MAX) {
      return Promise.resolve(left(reject('queue_full', '', `${QUEUE_MAX} lease requests wait already`)));
    }
    return new Promise((resolve) => {
      const done = (grant: LeaseGrant): void => {
        this.#waiters.delete(waiter);
        stop();
        signal?.removeEventListener('abort', giveUp);
        resolve(right(grant));
      };
      const giveUp = (): void => done(this.#nothing());
      const waiter: Waiter = { request, answer: done };
      const stop = this.#options.clock.after(Math.min(request.wait_ms, LEASE_WAIT_MS_MAX), giveUp);
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** A submit that asks for what it leads to is under way: nobody else is given that before {@link endSubmit}. */
  beginSubmit(session: SessionId): void {
    this.#submitting.set(session, (this.#submitting.get(session) ?? 0) + 1);
  }

  /**
   * It is answered, and goes on with what its session owes now; `asked` is null when it was refused. An answer given
   * `again` has what the first one had, under the same epochs: either of them may be the one that arrives.
   */
  endSubmit(session: SessionId, asked: Asked | null, again = false): LeaseGrant {
    const submitting = (this.#submitting.get(session) ?? 1) - 1;
    if (submitting === 0) this.#submitting.delete(session);
    else this.#submitting.set(session, submitting);
    const granted =
      asked === null ? this.#nothing() : again ? this.#grantAgain(session, asked) : this.#grant(asked, [session]);
    if (this.#free.has(session)) this.#serveSoon(session);
    return granted;
  }

  heartbeat({ owner, leases }: Heartbeat): HeartbeatReply {
    return { lost: leases.filter((key) => !this.#extend(key, owner)) };
  }

  /** Gives leases back: at once, as if they had expired. */
  release({ owner, leases, all = false }: Release): HeartbeatReply {
    // Nobody is there to take what a request that still waits would be given.
    if (all) for (const { request, answer } of this.#waiters) if (request.owner === owner) answer(this.#nothing());
    for (const { session_id, effect_id, epoch } of all ? this.#heldBy(owner) : leases) {
      const lease = this.#held.get(session_id)?.get(effect_id);
      if (lease?.owner !== owner) continue;
      if (epoch === undefined || lease.epoch === null || lease.epoch === epoch)
        this.#expire(session_id, effect_id, lease);
    }
    return { lost: leases };
  }

  /** Null when whoever sends this request may report this, else `stale_lease`. */
  refuseReport(session: SessionId, ingress: Ingress, { owner, leases = [] }: Submit): Rejection | null {
    const report = reportOn(ingress, this.#owed.get(session)?.retries() ?? 0);
    if (report === null || owner === undefined) return null;
    if (ingress.kind === 'ToolCallStarted' && ingress.owner !== owner) {
      return reject('stale_lease', '/owner', 'a start is reported by whoever makes it');
    }
    const epoch = leases.find(({ effect_id }) => effect_id === report.effect)?.epoch;
    const standing = this.#standing({ session_id: session, effect_id: report.effect }, { owner, epoch });
    return standing === 'lost' ? reject('stale_lease', '', `the lease on ${report.effect} was lost`) : null;
  }

  /** A session was loaded: whatever was held of it and is no longer owed is dropped, whatever runs is held. */
  load(session: SessionId, state: SessionState): void {
    this.#owed.set(session, new Owed(state));
    this.#reconcile(session);
  }

  /** A session has adopted events: what it owes may have changed. */
  update(session: SessionId, state: SessionState, events: readonly IngressEvent[]): void {
    const owed = this.#owed.get(session);
    if (owed === undefined) {
      this.load(session, state);
      return;
    }
    // What is answered was owed before.
    const retries = owed.retries();
    const wide = owed.update(state, events);
    for (const event of events) {
      const report = reportOn(event, retries);
      if (report?.answers === true) this.#drop(session, report.effect);
      else if (event.kind === 'ToolCallStarted' && report !== null && owed.isRunning(event)) {
        const known = this.#held.get(session)?.get(report.effect);
        const epoch = known?.owner === event.owner ? known.epoch : null;
        this.#hold(session, report.effect, { owner: event.owner, epoch, call: event });
      }
    }
    if (wide) this.#reconcile(session);
    // Nothing has become free, but what is may wait for less.
    else if (this.#free.has(session)) this.#serve(session);
  }

  /** The state of a session is in doubt: nothing more of it is handed out until it is loaded again. */
  suspend(session: SessionId): void {
    this.#forgetOwed(session);
  }

  /** A session does not verify: nobody owes it anything. */
  forget(session: SessionId): void {
    this.#forgetOwed(session);
    this.#newestEpochs.forget(session);
    this.#held.delete(session);
  }

  close(): void {
    this.#closed = true;
    this.#stopSweep?.();
    for (const { answer } of this.#waiters) answer(this.#nothing());
  }

  #nothing(): LeaseGrant {
    return { effects: [], epochs: [], plans: [], ttl_ms: this.#options.ttlMs };
  }

  #reconcile(session: SessionId): void {
    const owed = this.#owed.get(session);
    if (owed === undefined) return;
    const running = owed.running();
    // What a paused run does not owe now it owes again later: whoever is at it stays at it.
    const paused = owed.state().run?.phase.startsWith('paused_') === true;
    const isOver = (id: EffectId): boolean => !owed.has(id) && !running.has(id);
    if (!paused) {
      for (const id of this.#held.get(session)?.keys() ?? []) if (isOver(id)) this.#drop(session, id);
      for (const id of this.#newestEpochs.effects(session)) if (isOver(id)) this.#drop(session, id);
    }
    for (const [id, { owner, ...call }] of running) {
      if (this.#held.get(session)?.has(id) !== true) this.#hold(session, id, { owner, epoch: null, call });
    }
    if (owed.state().run === null && mayRest(owed.state())) this.#forgetOwed(session);
    else this.#serve(session);
  }

  /** Where nothing of what is wanted is free is taken out of `free`. */
  #grant(
    request: Asked & Pick<LeaseRequest, 'sessions'>,
    sessions: Iterable<SessionId>,
    free?: Set<SessionId>,
  ): LeaseGrant {
    const grant = newGrant(request, this.#options);
    for (const id of sessions) {
      const owed = this.#owed.get(id);
      if (owed === undefined || request.sessions?.includes(id) === false) continue;
      const { granted, more, wanted } = grant.take(owed, this.#held.get(id) ?? NONE_HELD);
      this.#holdAll(request.owner, granted);
      if (!more) this.#free.delete(id);
      else if (!wanted) free?.delete(id);
      if (grant.full()) break;
    }
    return grant.result();
  }

  #grantAgain(session: SessionId, asked: Asked): LeaseGrant {
    const grant = newGrant(asked, this.#options);
    const owed = this.#owed.get(session);
    if (owed !== undefined) this.#holdAll(asked.owner, grant.takeAgain(owed, this.#held.get(session) ?? NONE_HELD));
    return grant.result();
  }

  #holdAll(owner: OwnerId, granted: readonly Granted[]): void {
    for (const { effect, epoch } of granted) {
      const call = effect.kind === 'tool.call' ? effect : null;
      this.#hold(effect.session_id, effect.effect_id, { owner, epoch, call });
    }
  }

  // Adoptions come in bursts; waiting bridges are served once after each burst.
  #serve(session: SessionId): void {
    this.#free.add(session);
    // Whoever led to it is about to be answered.
    if (!this.#submitting.has(session)) this.#serveSoon(session);
  }

  #serveSoon(session: SessionId): void {
    if (this.#waiters.size === 0) return;
    this.#changed.add(session);
    if (this.#serving) return;
    this.#serving = true;
    queueMicrotask(() => {
      this.#serving = false;
      const changed = Array.from(this.#changed);
      this.#changed.clear();
      for (const { request, answer } of Array.from(this.#waiters)) {
        const granted = this.#grant(request, changed);
        if (granted.effects.length > 0) answer(granted);
      }
    });
  }

  #hold(session: SessionId, effect: EffectId, { owner, epoch, call }: Omit<Lease, 'sweepsLeft'>): void {
    let leases = this.#held.get(session);
    if (leases === undefined) this.#held.set(session, (leases = new Map<EffectId, Lease>()));
    const key = call === null ? null : { batch_id: call.batch_id, call_id: call.call_id, attempt: call.attempt };
    if (epoch !== null) this.#newestEpochs.raise(session, effect, epoch);
    leases.set(effect, { owner, epoch, call: key, sweepsLeft: SWEEPS_PER_TTL + 1 });
    this.#sweepLater();
  }

  /** Nobody can have it any more. */
  #drop(session: SessionId, effect: EffectId): void {
    this.#newestEpochs.drop(session, effect);
    this.#letGo(session, effect);
  }

  #forgetOwed(session: SessionId): void {
    this.#owed.delete(session);
    this.#free.delete(session);
  }

  /** Anybody may have it, but for those who had it. */
  #letGo(session: SessionId, effect: EffectId): void {
    const leases = this.#held.get(session);
    leases?.delete(effect);
    if (leases?.size === 0) this.#held.delete(session);
  }

  #sweepLater(): void {
    if (this.#closed || this.#held.size === 0) return;
    this.#stopSweep ??= this.#options.clock.after(this.#options.ttlMs / SWEEPS_PER_TTL, () => this.#sweep());
  }

  #sweep(): void {
    this.#stopSweep = null;
    for (const [session, leases] of Array.from(this.#held)) {
      for (const [effect, lease] of Array.from(leases)) {
        lease.sweepsLeft -= 1;
        if (lease.sweepsLeft <= 0) this.#expire(session, effect, lease);
      }
    }
    this.#sweepLater();
  }

  #expire(session: SessionId, effect: EffectId, { call }: Lease): void {
    const owed = this.#owed.get(session);
    if (owed !== undefined && (call === null || !owed.isRunning(call))) {
      this.#letGo(session, effect);
      this.#serve(session);
      return;
    }
    // Held until the loss is recorded, so that nobody starts the call meanwhile; and a session whose state is in
    // doubt is left alone until it is loaded again.
    this.#hold(session, effect, { owner: null, epoch: null, call });
    if (owed !== undefined && call !== null) this.#options.onCallLost(session, { kind: 'LeaseExpired', ...call });
  }

  #heldBy(owner: OwnerId): readonly LeaseKey[] {
    return Array.from(this.#held).flatMap(([session_id, leases]) =>
      Array.from(leases).flatMap(([effect_id, lease]) => (lease.owner === owner ? [{ session_id, effect_id }] : [])),
    );
  }

  #extend(key: LeaseKey, owner: OwnerId): boolean {
    const { session_id, effect_id } = key;
    const standing = this.#standing(key, { owner, epoch: key.epoch });
    if (standing === 'lost') return false;
    const lease = this.#held.get(session_id)?.get(effect_id);
    const epoch = key.epoch ?? lease?.epoch ?? null;
    if (lease?.owner === owner) {
      this.#hold(session_id, effect_id, { ...lease, epoch });
      return true;
    }
    // After a restart of the engine nobody holds what was not started yet, and whoever is at it takes it up again.
    const effect = this.#owed.get(session_id)?.find(effect_id);
    if (effect === undefined) return false;
    this.#hold(session_id, effect_id, { owner, epoch, call: effect.kind === 'tool.call' ? effect : null });
    return true;
  }

  #standing({ session_id, effect_id }: Omit<LeaseKey, 'epoch'>, claimant: Claimant): Standing {
    const lease = this.#held.get(session_id)?.get(effect_id);
    return standingOf(claimant, {
      lease,
      newest: this.#newestEpochs.newest(session_id, effect_id),
      first: this.#options.epochs.first,
      runs: lease !== undefined && lease.call !== null && this.#owed.get(session_id)?.isRunning(lease.call) === true,
    });
  }
}

const NONE_HELD: ReadonlyMap<EffectId, Lease> = new Map();

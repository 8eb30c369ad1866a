// The lease table: which bridge holds which effect, and what each lease request is granted (docs/design.md, law 17).
// Leases live in memory only. What a session owes follows from its state, and after a restart of the engine a bridge
// resumes its leases with its next heartbeat. A call that is recorded as running is held, in every phase of its run,
// until it settles or its bridge stops sending heartbeats.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { EffectOfKind } from '../../../schemas/effect.ts';
import type { EventOfKind, Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { EffectId, OwnerId, SessionId } from '../../../schemas/ids.ts';
import { LEASE_EFFECTS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type {
  Heartbeat,
  HeartbeatReply,
  LeaseGrant,
  LeaseKey,
  LeaseRequest,
  Release,
  SessionView,
  Submit,
} from '../../../schemas/wire.ts';
import type { Clock } from '../../clock.ts';
import type { Pause } from '../../turns.ts';
import type { Epochs } from './epochs.ts';
import { GrantableSessions } from './grantable-sessions.ts';
import { type Grant, type GrantRequest, type Granted, newGrant } from './lease-grant.ts';
import { type Lease, LeaseHolds } from './lease-holds.ts';
import { type Claimant, type LeaseStatus, leaseStatusOf } from './lease-status.ts';
import { LeaseWaiters } from './lease-waiters.ts';
import { type AnswerLost, LostAnswers } from './lost-answers.ts';
import { OwedEffects, hasWorkOutsideRun } from './owed-effects.ts';
import { refuseReport } from './refuse-report.ts';
import { openingOf, reportOn } from './reports.ts';
import { isWanted } from './wanted-effects.ts';

type Generate = EffectOfKind<'llm.generate'>;
type LeaseExpired = Omit<EventOfKind<'LeaseExpired'>, 'v' | 'at_ms' | 'event_id'>;

export interface LeaseOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly epochs: Epochs;
  /** Asked between two sessions that a request may be granted effects of. */
  readonly pause: Pause;
  /** A call recorded as started has lost its bridge. Called again after each further ttl until the loss is recorded. */
  readonly onCallLost: (session: SessionId, lost: LeaseExpired) => void;
  /** Too many bridges lost a request to a model. Called again in the same way. */
  readonly onAnswerLost: (session: SessionId, lost: AnswerLost) => void;
}

export class LeaseTable {
  readonly #options: LeaseOptions;
  /** The owed effects of every session with a live run, or with work outside a run. */
  readonly #owed = new Map<SessionId, OwedEffects>();
  /** The sessions that may owe an effect that no bridge holds. */
  readonly #grantable = new GrantableSessions();
  readonly #holds: LeaseHolds;
  readonly #lostAnswers = new LostAnswers();
  readonly #waiters: LeaseWaiters;
  #draining = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#holds = new LeaseHolds({
      clock: options.clock,
      ttlMs: options.ttlMs,
      onExpired: (session, effect, lease) => this.#expire(session, effect, lease),
    });
    this.#waiters = new LeaseWaiters({
      clock: options.clock,
      grant: (request, sessions, isOver) => this.#grant(request, this.#withWorkFor(request, sessions), { isOver }),
      emptyGrant: () => this.#emptyGrant(),
    });
  }

  /** Grants effects; waits for the first as long as the request allows. An aborted request is granted nothing. */
  async lease(request: LeaseRequest, signal?: AbortSignal): Promise<Either<Rejection, LeaseGrant>> {
    // Requests that waited before this one are served first.
    const round = this.#waiters.round();
    if (round !== null) await round;
    const { sessions } = request;
    const search = (isOver: () => boolean): Promise<LeaseGrant> => {
      const candidates = sessions === undefined ? this.#grantable.candidates(request) : undefined;
      return this.#grant(request, sessions ?? candidates ?? [], { isOver, candidates });
    };
    return await this.#waiters.searchOrWait(request, search, signal);
  }

  /** Begins a submit that also requests leases: its session is offered to no waiting request before {@link endSubmit}. */
  beginSubmit(session: SessionId): void {
    this.#waiters.beginSubmit(session);
  }

  /**
   * Ends such a submit and grants it what its session owes now; `request` is null when the submit was refused. With
   * `again` (the submit repeats an earlier one) it is granted only what the first answer granted, under the same epochs,
   * because either of the two answers may be the one that arrives.
   */
  endSubmit(session: SessionId, request: GrantRequest | null, again = false): LeaseGrant {
    this.#waiters.endSubmit(session);
    const granted =
      request === null
        ? this.#emptyGrant()
        : again
          ? this.#repeatGrant(session, request)
          : this.#grantOf(session, request);
    if (this.#grantable.has(session)) this.#waiters.serveSoon(session);
    return granted;
  }

  heartbeat({ owner, leases }: Heartbeat): HeartbeatReply {
    return { lost: leases.filter((key) => !this.#extend(key, owner)) };
  }

  /** Ends leases at once, as if they had expired. */
  release({ owner, leases, all = false }: Release): HeartbeatReply {
    // An owner that releases everything wants no further grants, so its waiting requests end.
    if (all) this.#waiters.dismiss(owner);
    for (const { session_id, effect_id, epoch } of all ? this.#holds.keysOf(owner) : leases) {
      const lease = this.#holds.get(session_id, effect_id);
      if (lease?.owner !== owner) continue;
      if (epoch === undefined || lease.epoch === null || lease.epoch === epoch)
        this.#expire(session_id, effect_id, lease);
    }
    return { lost: leases };
  }

  /** Why the sender of this request may not report this event, else null. */
  refuseReport(session: SessionId, ingress: Ingress, request: Submit): Rejection | null {
    const leases = {
      reported: this.#reportedBy(session, ingress),
      isHeld: (effect: EffectId) => this.#holds.get(session, effect) !== undefined,
      owes: (effect: EffectId) => this.#owed.get(session)?.find(effect) !== undefined,
      statusOf: (effect_id: EffectId, claimant: Claimant) =>
        this.#statusOf({ session_id: session, effect_id }, claimant),
    };
    return refuseReport(leases, ingress, request);
  }

  /** The generate that this claimant holds under this epoch; why not, else. */
  generateOf(key: LeaseKey & { readonly epoch: number }, owner: OwnerId): Either<Rejection, Generate> {
    const { session_id, effect_id, epoch } = key;
    const effect = this.#owed.get(session_id)?.find(effect_id);
    const holds = effect !== undefined && this.#statusOf(key, { owner, epoch }) === 'held';
    if (holds && effect.kind === 'llm.generate') return right(effect);
    const what = holds ? 'is no generate' : 'is not held by this owner under this epoch; stop this work';
    return left(reject('stale_lease', '/effect_id', `the effect ${effect_id} ${what}`));
  }

  /** A session was loaded: leases on what it no longer owes end, and every running call is held. */
  load(session: SessionId, state: SessionState): void {
    this.#owed.set(session, new OwedEffects(state));
    this.#reconcile(session);
  }

  /** A session has adopted events: what it owes may have changed. */
  update(session: SessionId, state: SessionState, events: readonly IngressEvent[]): void {
    const owed = this.#owed.get(session);
    if (owed === undefined) {
      this.load(session, state);
      return;
    }
    // The effect that an event answers was owed before the event.
    const { run } = owed.state();
    const mayOweOther = owed.update(state, events);
    for (const event of events) {
      const report = reportOn(event, run);
      if (report?.answers === true) this.#holds.end(session, report.effect);
      else if (event.kind === 'ToolCallStarted' && report !== null && owed.isRunning(event)) {
        const known = this.#holds.get(session, report.effect);
        const epoch = known?.owner === event.owner ? known.epoch : null;
        this.#holds.hold(session, report.effect, { owner: event.owner, epoch, call: event });
      }
    }
    if (mayOweOther) this.#reconcile(session);
    // No other effect can be granted now, but a granted call may have fewer calls to wait for.
    else if (this.#grantable.has(session)) this.#offer(session);
  }

  /** Whether a bridge, or the engine for a lost bridge, holds an effect of this session. */
  holdsAny(session: SessionId): boolean {
    return this.#holds.of(session).size > 0;
  }

  /** A session left memory, or its state is in doubt: nothing of it is granted until it is loaded again. */
  suspend(session: SessionId): void {
    this.#forgetOwed(session);
  }

  /** A session does not verify: it owes nothing, and every lease on it ends. */
  forget(session: SessionId): void {
    this.#forgetOwed(session);
    this.#lostAnswers.forget(session);
    this.#holds.forget(session);
  }

  /** The owners of the effects of this session that bridges hold now, as many as a view shows. */
  holdersIn(session: SessionId): NonNullable<SessionView['held_by']> {
    return Array.from(this.#holds.of(session))
      .slice(0, LEASE_EFFECTS_MAX)
      .flatMap(([effect_id, { owner }]) =>
        owner === null ? [] : [{ effect_id, owner, connected: this.#waiters.isWaiting(owner) }],
      );
  }

  /** How many effects bridges hold, and how many of their requests wait. */
  counts(): { readonly held: number; readonly waiting: number } {
    return { held: this.#holds.count(), waiting: this.#waiters.count() };
  }

  /** Grants nothing from now on, and answers the waiting requests; what is held may still be reported. */
  drain(): void {
    this.#draining = true;
    this.#waiters.close();
  }

  close(): void {
    this.#holds.close();
    this.#waiters.close();
  }

  /** The effect that a client reports on; null for no report, and for the engine's own. */
  #reportedBy(session: SessionId, ingress: Ingress): EffectId | null {
    if (ingress.kind === 'LeaseExpired' || this.#lostAnswers.made(ingress)) return null;
    const owed = this.#owed.get(session);
    if (ingress.kind === 'HostSessionUpdated') return openingOf(owed?.state().run?.run_id);
    return reportOn(ingress, owed?.state().run ?? null)?.effect ?? null;
  }

  #emptyGrant(): LeaseGrant {
    return { effects: [], epochs: [], plans: [], ttl_ms: this.#options.ttlMs };
  }

  #reconcile(session: SessionId): void {
    const owed = this.#owed.get(session);
    if (owed === undefined) return;
    const running = owed.running();
    // A paused run will owe its effects again, so the leases on them stay.
    const paused = owed.state().run?.phase.startsWith('paused_') === true;
    const isOver = (id: EffectId): boolean => !owed.has(id) && !running.has(id);
    if (!paused) for (const id of this.#holds.knownEffects(session)) if (isOver(id)) this.#holds.end(session, id);
    for (const [id, { owner, ...call }] of running) {
      if (this.#holds.get(session, id) === undefined) this.#holds.hold(session, id, { owner, epoch: null, call });
    }
    if (owed.state().run === null) this.#lostAnswers.forget(session);
    if (owed.state().run === null && !hasWorkOutsideRun(owed.state())) this.#forgetOwed(session);
    else this.#offer(session);
  }

  /**
   * Grants effects of these sessions, each in one step, and lets other work go on between two of them. When the request
   * is over by then, what it was granted is free again.
   */
  async #grant(
    request: GrantRequest & Pick<LeaseRequest, 'sessions'>,
    sessions: Iterable<SessionId>,
    { isOver, candidates }: { readonly isOver: () => boolean; readonly candidates?: Set<SessionId> | undefined },
  ): Promise<LeaseGrant> {
    const grant = newGrant(request, this.#options);
    for (const id of Array.from(sessions)) {
      const rest = this.#options.pause();
      if (rest !== null) await rest;
      if (this.#draining || isOver() || grant.full()) break;
      if (request.sessions?.includes(id) !== false) this.#addFrom(id, request, grant, candidates);
    }
    if (!isOver()) return grant.result();
    this.#giveBack(request.owner, grant.result());
    return this.#emptyGrant();
  }

  /** Grants effects of one session, at once. */
  #grantOf(session: SessionId, request: GrantRequest): LeaseGrant {
    const grant = newGrant(request, this.#options);
    if (!this.#draining) this.#addFrom(session, request, grant);
    return grant.result();
  }

  /** Removes the session from `candidates` when it has nothing grantable of what is requested. */
  #addFrom(id: SessionId, { owner }: GrantRequest, grant: Grant, candidates?: Set<SessionId>): void {
    const owed = this.#owed.get(id);
    if (owed === undefined) return;
    const { granted, more, wanted } = grant.addFrom(owed, this.#holds.of(id));
    this.#holdAll(owner, granted);
    if (!more) this.#grantable.delete(id);
    else if (!wanted) candidates?.delete(id);
  }

  /** Those of the sessions that owe work of a requested kind; the effects of the others are not searched. */
  *#withWorkFor(request: LeaseRequest, sessions: readonly SessionId[]): Generator<SessionId> {
    for (const id of sessions) {
      const owed = this.#grantable.has(id) ? this.#owed.get(id) : undefined;
      if (owed === undefined) continue;
      for (const effect of owed.samples()) {
        if (!isWanted(request, effect)) continue;
        yield id;
        break;
      }
    }
  }

  #giveBack(owner: OwnerId, { effects, epochs }: LeaseGrant): void {
    const leases = effects.map(({ session_id, effect_id }, at) => ({ session_id, effect_id, epoch: epochs[at] ?? 0 }));
    this.release({ owner, leases });
  }

  #repeatGrant(session: SessionId, request: GrantRequest): LeaseGrant {
    const grant = newGrant(request, this.#options);
    const owed = this.#owed.get(session);
    if (owed !== undefined) this.#holdAll(request.owner, grant.repeatFrom(owed, this.#holds.of(session)));
    return grant.result();
  }

  #holdAll(owner: OwnerId, granted: readonly Granted[]): void {
    for (const { effect, epoch } of granted) {
      const call = effect.kind === 'tool.call' ? effect : null;
      this.#holds.hold(effect.session_id, effect.effect_id, { owner, epoch, call });
    }
  }

  #offer(session: SessionId): void {
    this.#grantable.add(session);
    this.#waiters.serve(session);
  }

  #forgetOwed(session: SessionId): void {
    this.#owed.delete(session);
    this.#grantable.delete(session);
  }

  #expire(session: SessionId, effect: EffectId, { call }: Lease): void {
    const owed = this.#owed.get(session);
    const answer = this.#lostAnswers.add(session, owed?.find(effect));
    if (answer !== null) {
      // Held by the engine, as a lost call is below.
      this.#holds.hold(session, effect, { owner: null, epoch: null, call: null });
      this.#options.onAnswerLost(session, answer);
      return;
    }
    if (owed !== undefined && (call === null || !owed.isRunning(call))) {
      this.#holds.drop(session, effect);
      this.#offer(session);
      return;
    }
    // The engine itself holds the effect until the loss is recorded, so that no bridge starts the call before. For a
    // session whose state is in doubt, nothing is reported until it is loaded again.
    this.#holds.hold(session, effect, { owner: null, epoch: null, call });
    if (owed !== undefined && call !== null) this.#options.onCallLost(session, { kind: 'LeaseExpired', ...call });
  }

  #extend(key: LeaseKey, owner: OwnerId): boolean {
    const { session_id, effect_id } = key;
    const status = this.#statusOf(key, { owner, epoch: key.epoch });
    if (status === 'lost') return false;
    const lease = this.#holds.get(session_id, effect_id);
    const epoch = key.epoch ?? lease?.epoch ?? null;
    if (lease?.owner === owner) {
      this.#holds.hold(session_id, effect_id, { ...lease, epoch });
      return true;
    }
    // After a restart the engine knows no leases on effects that were not started: their bridges resume them here.
    const effect = this.#owed.get(session_id)?.find(effect_id);
    if (effect === undefined) return false;
    this.#holds.hold(session_id, effect_id, { owner, epoch, call: effect.kind === 'tool.call' ? effect : null });
    return true;
  }

  #statusOf({ session_id, effect_id }: Omit<LeaseKey, 'epoch'>, claimant: Claimant): LeaseStatus {
    const lease = this.#holds.get(session_id, effect_id);
    return leaseStatusOf(claimant, {
      lease,
      newest: this.#holds.newestEpoch(session_id, effect_id),
      first: this.#options.epochs.first,
      runs: lease !== undefined && lease.call !== null && this.#owed.get(session_id)?.isRunning(lease.call) === true,
    });
  }
}

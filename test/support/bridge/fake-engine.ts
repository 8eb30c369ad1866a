// A minimal engine on the pure core, without queue and disk, and with failures on demand.
import { isPersonEffect, sessionStatus } from '../../../src/core/status.ts';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { EngineClient } from '../../../src/client/client.ts';
import { canonicalText, digestJson, digestText } from '../../../schemas/canonical.ts';
import type { Effect } from '../../../schemas/effect.ts';
import type { Ingress, IngressEvent, IngressKind } from '../../../schemas/event.ts';
import type { Origin } from '../../../src/core/initial-state.ts';
import type { Digest, OwnerId, Position, SessionId } from '../../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../../schemas/json.ts';
import { INLINE_CHARS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { LeaseGrant, LeaseKey, LeaseRequest, PostDeltas, Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import { effects, initialState, stateDigest, stepNew } from '../../../src/core/index.ts';
import { blobText } from '../../../bridge/engine-link/text-content.ts';
import type { VirtualClock } from './virtual-clock.ts';

const TTL_MS = 15_000;

interface Lease {
  readonly owner: OwnerId;
  readonly effect: Effect;
  readonly session: SessionId;
  until: number;
}

type Answer<T> = Either<Rejection, T>;
/** What to do with a submit: refuse it, apply it and lose the answer, or apply it and answer. */
export type Fault = Rejection | 'lose_ack' | null;

export class FakeEngine {
  readonly blobs = new Map<Digest, Uint8Array>();
  readonly events: IngressEvent[] = [];
  /** Every submit that reached the engine, in order. */
  readonly submits: Submit[] = [];
  /** Every post of deltas, in order. */
  readonly deltas: (PostDeltas & { readonly session: SessionId })[] = [];
  readonly leases = new Map<string, Lease>();
  readonly released: LeaseKey[] = [];
  /** Consulted for each submit that reaches the engine. */
  fault: (submit: Submit) => Fault = () => null;
  /** Changes the grants that bridges receive. */
  tamper: (grant: LeaseGrant) => LeaseGrant = (grant) => grant;
  readonly client: EngineClient;
  #down = false;
  #epoch = 0;
  #sweeping = false;
  readonly #clock: VirtualClock;
  readonly #states = new Map<SessionId, SessionState>();
  readonly #recorded = new Map<string, number>();
  /** How often an owner has given everything back: lease requests from before that are not granted. */
  readonly #releases = new Map<OwnerId, number>();
  #wakers: (() => void)[] = [];

  constructor(clock: VirtualClock, origins: readonly Origin[]) {
    this.#clock = clock;
    for (const { genesis, tool_package } of origins) {
      this.#states.set(genesis.session_id, initialState(genesis, tool_package));
    }
    this.client = this.#newClient();
  }

  state(session: SessionId): SessionState {
    const state = this.#states.get(session);
    if (state === undefined) throw new Error(`no session ${session}`);
    return state;
  }

  of<K extends IngressKind>(kind: K): readonly Extract<IngressEvent, { readonly kind: K }>[] {
    return this.events.filter((event): event is Extract<IngressEvent, { readonly kind: K }> => event.kind === kind);
  }

  /** Records an event that does not come from a bridge. */
  record(session: SessionId, ingress: Ingress): void {
    const receipt = this.#submit(session, { events: [ingress] });
    if (isLeft(receipt)) throw new Error(JSON.stringify(receipt.left));
  }

  down(): void {
    this.#down = true;
    this.#wake();
  }

  /** Restarts as a new process, without leases. */
  up(): void {
    this.#down = false;
    this.leases.clear();
    this.#wake();
  }

  /** Gives the leases on these effects to another owner. */
  steal(owner: OwnerId, which: (effect: Effect) => boolean): void {
    for (const [key, lease] of this.leases) if (which(lease.effect)) this.leases.set(key, { ...lease, owner });
  }

  /** Ends these leases: calls that were started settle as unknown, and the rest is owed again. */
  expire(which: (lease: Lease) => boolean): void {
    for (const [key, lease] of [...this.leases].filter(([, lease]) => which(lease))) {
      this.leases.delete(key);
      const { effect, session } = lease;
      if (effect.kind !== 'tool.call' || !this.#isRunning(session, effect.call_id)) continue;
      const { batch_id, call_id, attempt } = effect;
      this.record(session, { kind: 'LeaseExpired', batch_id, call_id, attempt });
    }
    this.#wake();
  }

  #hold(key: string, lease: Omit<Lease, 'until'>): void {
    this.leases.set(key, { ...lease, until: this.#clock.now() + TTL_MS });
    this.#sweepLater();
  }

  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#clock.after(TTL_MS / 4, () => {
      this.#sweeping = false;
      const now = this.#clock.now();
      if (!this.#down) this.expire(({ until }) => until <= now);
      if (this.leases.size > 0) this.#sweepLater();
    });
  }

  #isRunning(session: SessionId, call: string): boolean {
    const batch = this.state(session).active_tool_batch;
    const position = batch?.observed.findIndex(({ call_id }) => call_id === call) ?? -1;
    return batch?.pages.flat()[position]?.status === 'running';
  }

  #submit(session: SessionId, submit: Submit): Answer<SubmitReceipt> {
    let state = this.state(session);
    const added: IngressEvent[] = [];
    const events: SubmitReceipt['events'][number][] = [];
    for (const ingress of submit.events) {
      const known = this.#recorded.get(`${session} ${ingress.event_id}`);
      if (ingress.event_id !== undefined && known !== undefined) {
        events.push({ event_id: ingress.event_id, position: known as Position, repeated: true });
        continue;
      }
      const given = this.#toEvent(ingress, state);
      const refusal = this.#refuseLease(session, given, submit.owner);
      const stepped = refusal === null ? stepNew(state, given) : left(refusal);
      if (isLeft(stepped)) return stepped;
      const { event } = stepped.right;
      if (stepped.right.sealed !== null) this.putText(stepped.right.sealed.text);
      events.push({ event_id: event.event_id, position: state.version as number as Position, repeated: false });
      ({ state } = stepped.right);
      added.push(event);
    }
    for (const [index, event] of added.entries()) {
      this.#recorded.set(`${session} ${event.event_id}`, state.version - added.length + index);
    }
    this.events.push(...added);
    this.#states.set(session, state);
    this.#wakeLater(session, state);
    const owed = new Set(effects(state).map(({ effect_id }) => keyOf({ session_id: session, effect_id })));
    for (const [key, lease] of this.leases) if (lease.session === session && !owed.has(key)) this.leases.delete(key);
    this.#wake();
    return right({ version: state.version, state_digest: stateDigest(state), events });
  }

  /** Records `TimeReached` when the time that the session waits for is reached, unless it waits for another one by then. */
  #wakeLater(session: SessionId, state: SessionState): void {
    const wake = effects(state).find((effect) => effect.kind === 'wake');
    if (wake?.kind !== 'wake') return;
    this.#clock.after(Math.max(0, wake.at_ms - state.updated_at_ms), () => {
      const still = effects(this.state(session)).some((effect) => effect.effect_id === wake.effect_id);
      if (still) this.record(session, { kind: 'TimeReached', due_at_ms: wake.at_ms });
    });
  }

  #refuseLease(session: SessionId, event: IngressEvent, owner: OwnerId | undefined): Rejection | null {
    if (event.kind !== 'ToolCallSettled' && event.kind !== 'ToolCallStarted') return null;
    const key = keyOf({ session_id: session, effect_id: `${event.batch_id}/${event.call_id}/${event.attempt}` });
    const holder = this.leases.get(key)?.owner;
    return owner === undefined || holder === undefined || holder === owner ? null : reject('stale_lease', '', 'lost');
  }

  #toEvent(ingress: Ingress, state: SessionState): IngressEvent {
    const event_id = ingress.event_id ?? `recorded-${this.events.length}`;
    const event = {
      ...ingress,
      v: 1,
      event_id,
      at_ms: Math.max(this.#clock.now(), state.updated_at_ms),
    } as IngressEvent;
    if (event.kind !== 'ToolCallsObserved') return event;
    return { ...event, calls: event.calls.map((call) => this.#prepare(call)) };
  }

  #prepare(call: ToolCallObserved): ToolCallObserved {
    const parsed = call.arguments_text === undefined ? right(call.arguments ?? {}) : parseJson(call.arguments_text);
    if (isLeft(parsed) || !isPlainObject(parsed.right)) return call;
    const { arguments: _, arguments_text: __, ...rest } = call;
    const args: JsonObject = parsed.right;
    const text = canonicalText(args);
    const arguments_digest = digestJson(args);
    if (text.length <= INLINE_CHARS_MAX) return { ...rest, arguments: args, arguments_digest };
    const ref = this.putText(text);
    return { ...rest, arguments_digest, arguments_ref: blobText(text, { ref, bytes: Buffer.byteLength(text) }) };
  }

  putText(text: string): Digest {
    const ref = digestText(text);
    this.blobs.set(ref, Buffer.from(text));
    return ref;
  }

  #wake(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }

  #grant(request: LeaseRequest): LeaseGrant {
    const granted: Effect[] = [];
    const plans: LeaseGrant['plans'][number][] = [];
    for (const [session, state] of this.#states) {
      if (request.sessions !== undefined && !request.sessions.includes(session)) continue;
      for (const effect of effects(state)) {
        const key = keyOf(effect);
        if (granted.length >= request.max || this.leases.has(key) || !wants(request, effect)) continue;
        this.#hold(key, { owner: request.owner, effect, session });
        granted.push(effect);
      }
      const batch = state.active_tool_batch;
      if (batch !== null) plans.push({ session_id: session, batch_id: batch.batch_id, plan: batch.plan });
    }
    const epochs = granted.map(() => (this.#epoch += 1));
    return this.tamper({ effects: granted, epochs, plans, ttl_ms: TTL_MS });
  }

  async #lease(request: LeaseRequest, signal: AbortSignal | undefined): Promise<Answer<LeaseGrant>> {
    const end = this.#clock.now() + request.wait_ms;
    const releases = this.#releasesOf(request.owner);
    for (;;) {
      if (this.#down) return left(away);
      if (signal?.aborted === true || releases !== this.#releasesOf(request.owner)) return left(away);
      const grant = this.#grant(request);
      if (grant.effects.length > 0 || this.#clock.now() >= end) return right(grant);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          stop();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const stop = this.#clock.after(end - this.#clock.now(), done);
        this.#wakers.push(done);
        signal?.addEventListener('abort', done);
      });
    }
  }

  #releasesOf(owner: OwnerId): number {
    return this.#releases.get(owner) ?? 0;
  }

  #heartbeat(owner: OwnerId, keys: readonly LeaseKey[]): readonly LeaseKey[] {
    return keys.filter((key) => {
      const lease = this.leases.get(keyOf(key));
      if (lease !== undefined) {
        lease.until = this.#clock.now() + TTL_MS;
        return lease.owner !== owner;
      }
      const owed = effects(this.state(key.session_id)).find(({ effect_id }) => effect_id === key.effect_id);
      if (owed === undefined) return true;
      this.#hold(keyOf(key), { owner, effect: owed, session: key.session_id });
      return false;
    });
  }

  #newClient(): EngineClient {
    const answering =
      <T>(work: () => Answer<T> | Promise<Answer<T>>): TaskEither<Rejection, T> =>
      async () => {
        this.#clock.touch();
        if (this.#down) return left(away);
        const answer = await work();
        this.#clock.touch();
        return answer;
      };
    const unused = (): never => {
      throw new Error('not part of the fake engine');
    };
    return {
      info: unused,
      createSession: unused,
      fork: unused,
      backup: unused,
      deleteSession: unused,
      deletedSessions: unused,
      sessions: unused,
      records: unused,
      follow: unused,
      followCommits: unused,
      followLive: unused,
      postDeltas: (id, posted) =>
        answering(() => {
          this.deltas.push({ session: id, ...structuredClone(posted) });
          return right({ readers: 1 });
        }),
      session: (id) =>
        answering(() => {
          const state = this.state(id);
          return right({
            state,
            state_digest: stateDigest(state),
            chain: state.genesis_digest,
            ...sessionStatus(state),
          });
        }),
      submit: (id, submit) =>
        answering(() => {
          this.submits.push(submit);
          const fault = this.fault(submit);
          if (fault !== null && fault !== 'lose_ack') return left(fault);
          const answer = this.#submit(id, structuredClone(submit));
          return fault === 'lose_ack' ? left(away) : answer;
        }),
      lease: (request, signal) => answering(() => this.#lease(request, signal)),
      heartbeat: ({ owner, leases }) => answering(() => right({ lost: this.#heartbeat(owner, leases) })),
      release: ({ owner, leases, all = false }) =>
        answering(() => {
          if (all) this.#releases.set(owner, this.#releasesOf(owner) + 1);
          const names = new Set(leases.map(keyOf));
          const isReleased = (lease: Lease): boolean =>
            lease.owner === owner && (all || names.has(keyOf(lease.effect)));
          this.released.push(...[...this.leases.values()].filter(isReleased).map(({ effect }) => effect));
          this.expire(isReleased);
          return right({ lost: leases });
        }),
      putBlob: (bytes) =>
        answering(() => {
          const ref = digestText(bytes);
          this.blobs.set(ref, bytes.slice());
          return right(ref);
        }),
      joinBlobs: ({ parts }) =>
        answering(() => {
          const bytes = Buffer.concat(parts.map((part) => this.blobs.get(part) ?? new Uint8Array()));
          const ref = digestText(bytes);
          this.blobs.set(ref, bytes);
          return right(ref);
        }),
      getBlob: (ref) =>
        answering(() => {
          const bytes = this.blobs.get(ref);
          return bytes === undefined ? left(reject('unknown_blob', '', 'no such blob')) : right(bytes);
        }),
      close: () => Promise.resolve(),
    };
  }
}

const away = reject('closing', '', 'connection refused');

const keyOf = ({ session_id, effect_id }: { readonly session_id: string; readonly effect_id: string }): string =>
  `${session_id} ${effect_id}`;

function wants(request: LeaseRequest, effect: Effect): boolean {
  if (effect.kind === 'wake' || isPersonEffect(effect) || !request.kinds.includes(effect.kind)) return false;
  if (effect.kind === 'tool.answer') return effect.owner === request.owner;
  if (effect.kind === 'tool.cancel') return effect.owner === null || effect.owner === request.owner;
  if (effect.kind !== 'tool.call') return true;
  return request.tools.some((tool) =>
    tool.endsWith('*') ? effect.tool_id.startsWith(tool.slice(0, -1)) : tool === effect.tool_id,
  );
}

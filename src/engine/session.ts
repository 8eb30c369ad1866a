// One live session: the fence through which every fact passes (DESIGN section 1). Requests wait in a bounded queue;
// what waits together is stepped one by one and appended in one durable write; only then is the new state adopted,
// answered and published. Nothing else may change the state.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import type { Ingress, IngressEvent } from '../../schemas/event.ts';
import type { Digest, EventId, OwnerId, Position, SessionId } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, QUEUE_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { Submit, type SubmitReceipt } from '../../schemas/wire.ts';
import { nextChain } from '../core/chain.ts';
import { owesBridge } from '../core/effects.ts';
import { stateDigest } from '../core/state-digest.ts';
import { type Step, step } from '../core/step.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';
import { type EdgePorts, toEvent } from './edge.ts';
import type { LoadedSession } from './load-session.ts';

export interface SessionPorts extends EdgePorts {
  readonly journal: Journal;
  /** Whether this bridge may report this: null, or why not. */
  readonly refuseReport: (session: SessionId, ingress: Ingress, owner: OwnerId) => Rejection | null;
  /** Called after each durable append, with the events that were adopted. */
  readonly onAdopted: (session: LiveSession, events: readonly IngressEvent[]) => void;
  /** Called when the journal and this state may differ: the session must be loaded again. */
  readonly onLost: (session: LiveSession) => void;
}

interface Waiting {
  readonly request: Submit;
  readonly answer: (receipt: Either<Rejection, SubmitReceipt>) => void;
}

/** Steps taken and not yet durable. */
interface Tentative {
  state: SessionState;
  chain: Digest;
  readonly events: IngressEvent[];
  readonly records: JournalRecord[];
  readonly sealed: string[];
}

export class LiveSession {
  readonly id: SessionId;
  readonly #ports: SessionPorts;
  readonly #queue: Waiting[] = [];
  #state: SessionState;
  #chain: Digest;
  #draining = false;
  #lost: Rejection | null = null;

  constructor({ state, chain }: LoadedSession, ports: SessionPorts) {
    this.id = state.session_id;
    this.#state = state;
    this.#chain = chain;
    this.#ports = ports;
  }

  /** The state as of the last durable event. */
  state(): SessionState {
    return this.#state;
  }

  chain(): Digest {
    return this.#chain;
  }

  submit(request: Submit): Promise<Either<Rejection, SubmitReceipt>> {
    const decoded = decode(Submit, request);
    if (isLeft(decoded)) return Promise.resolve(decoded);
    if (this.#queue.length >= QUEUE_MAX) {
      return Promise.resolve(left(reject('queue_full', '', `${QUEUE_MAX} requests wait for session ${this.id}`)));
    }
    return new Promise((answer) => {
      this.#queue.push({ request: decoded.right, answer });
      if (!this.#draining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#queue.length > 0) await this.#commit(takeTogether(this.#queue));
    this.#draining = false;
  }

  /** The fence. Its lines are in the order that durability needs. */
  async #commit(together: readonly Waiting[]): Promise<void> {
    const tentative = tentativeFrom(this.#state, this.#chain);
    const accepted: { readonly waiting: Waiting; readonly receipt: Either<Rejection, SubmitReceipt> }[] = [];
    for (const waiting of together) {
      const receipt = this.#lost === null ? await this.#take(waiting.request, tentative) : left(this.#lost);
      if (isLeft(receipt)) waiting.answer(receipt);
      else accepted.push({ waiting, receipt });
    }
    const failed = await this.#persist(tentative);
    if (failed !== null) {
      for (const { waiting } of accepted) waiting.answer(left(failed));
      return;
    }
    this.#state = tentative.state;
    this.#chain = tentative.chain;
    for (const { waiting, receipt } of accepted) waiting.answer(receipt);
    if (tentative.events.length > 0) this.#ports.onAdopted(this, tentative.events);
  }

  /** Makes blobs, then events durable; the rejection when that failed. */
  async #persist({ records, sealed, state }: Tentative): Promise<Rejection | null> {
    for (const page of sealed) {
      const stored = await this.#ports.blobs.put(new TextEncoder().encode(page))();
      if (isLeft(stored)) return stored.left;
    }
    if (records.length === 0) return null;
    const { version } = this.#state;
    const appended = await this.#ports.journal.append(this.id, version, records, owesBridge(state))();
    if (!isLeft(appended)) return null;
    if (appended.left.code !== 'storage_failed') {
      this.#lost = appended.left;
      this.#ports.onLost(this);
    }
    return appended.left;
  }

  /** Steps every event of a request, or none: a refused request leaves the tentative state as it was. */
  async #take(request: Submit, tentative: Tentative): Promise<Either<Rejection, SubmitReceipt>> {
    const { expected_version: expected } = request;
    if (expected !== undefined && expected !== tentative.state.version) {
      return left(reject('version_conflict', '/expected_version', `the session is at ${tentative.state.version}`));
    }
    const mine = tentativeFrom(tentative.state, tentative.chain);
    const appended: Appended[] = [];
    for (const [index, ingress] of request.events.entries()) {
      const taken = await this.#takeEvent(ingress, request.owner, [tentative, mine]);
      if (isLeft(taken)) return left({ ...taken.left, path: `/events/${index}${taken.left.path}` });
      appended.push(taken.right);
    }
    tentative.state = mine.state;
    tentative.chain = mine.chain;
    tentative.events.push(...mine.events);
    tentative.records.push(...mine.records);
    tentative.sealed.push(...mine.sealed);
    return right({ version: mine.state.version, state_digest: stateDigest(mine.state), events: appended });
  }

  async #takeEvent(
    ingress: Ingress,
    owner: OwnerId | undefined,
    pending: readonly [before: Tentative, mine: Tentative],
  ): Promise<Either<Rejection, Appended>> {
    const mine = pending[1];
    if (ingress.event_id !== undefined) {
      const there = await this.#find(ingress.event_id, pending);
      if (isLeft(there)) return there;
      if (there.right !== null) return right({ event_id: ingress.event_id, position: there.right, repeated: true });
    }
    const refusal = owner === undefined ? null : this.#ports.refuseReport(this.id, ingress, owner);
    if (refusal !== null) return left(refusal);
    const event = await toEvent(this.#ports, mine.state, ingress);
    if (isLeft(event)) return event;
    const position = mine.state.version as number as Position;
    const stepped = step(mine.state, event.right);
    if (isLeft(stepped)) return stepped;
    addStep(mine, event.right, stepped.right);
    return right({ event_id: event.right.event_id, position, repeated: false });
  }

  /** Where an event id is: in the stream, or among the steps that are not durable yet. */
  async #find(event: EventId, pending: readonly Tentative[]): Promise<Either<Rejection, Position | null>> {
    let position: number = this.#state.version;
    for (const { records } of pending) {
      const index = records.findIndex((record) => record.event_id === event);
      if (index !== -1) return right((position + index) as Position);
      position += records.length;
    }
    return await this.#ports.journal.find(this.id, event)();
  }
}

type Appended = SubmitReceipt['events'][number];

const tentativeFrom = (state: SessionState, chain: Digest): Tentative => ({
  state,
  chain,
  events: [],
  records: [],
  sealed: [],
});

function addStep(to: Tentative, event: IngressEvent, { state, stateDigest, sealed }: Step): void {
  const text = canonicalText(event);
  to.state = state;
  to.chain = nextChain(to.chain, digestText(text), stateDigest);
  to.events.push(event);
  to.records.push({ event: text, event_id: event.event_id, state_digest: stateDigest, chain: to.chain });
  if (sealed !== null) to.sealed.push(sealed.text);
}

/** The next requests whose events fit one append. */
function takeTogether(queue: Waiting[]): readonly Waiting[] {
  let events = 0;
  let count = 0;
  for (const { request } of queue) {
    events += request.events.length;
    if (count > 0 && events > EVENTS_PER_APPEND_MAX) break;
    count += 1;
  }
  return queue.splice(0, count);
}

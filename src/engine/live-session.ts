// One live session: the fence through which every fact passes (DESIGN section 1). Requests wait in a bounded queue;
// what waits together is stepped one by one and appended in one durable write; only then is the new state adopted,
// answered and published. Nothing else may change the state.
import { type Either, isLeft, isRight, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Ingress, IngressEvent } from '../../schemas/event.ts';
import type { Digest, Position, SessionId, Version } from '../../schemas/ids.ts';
import { APPEND_BYTES_MAX, EVENTS_PER_APPEND_MAX, QUEUE_BYTES_MAX, QUEUE_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { upcast } from '../../schemas/upcast.ts';
import type { Submit, SubmitReceipt } from '../../schemas/wire.ts';
import { nextChain } from '../core/chain.ts';
import { stateDigest } from '../core/state-digest.ts';
import { type Step, step } from '../core/step.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';
import { type EdgePorts, toEvent } from './edge.ts';
import { recordedNothing, stepFault, writeFault } from './faults.ts';
import type { LoadedFrom, LoadedSession } from './load-session.ts';
import { owesAnything } from './owed.ts';
import { findUnreadable } from './readable.ts';
import { eventRecords } from './records.ts';
import { findOtherFact } from './same-event.ts';
import { fillUndo } from './undo-request.ts';

export interface SessionPorts extends EdgePorts {
  readonly journal: Journal;
  /** Whether whoever sent the request may report this: null, or why not. */
  readonly refuseReport: (session: SessionId, ingress: Ingress, request: Submit) => Rejection | null;
  /** Why a session at rest may not begin to work, or null. */
  readonly refuseWork: (session: SessionId) => Rejection | null;
  /** Called after each durable append, with the events that were adopted. */
  readonly onAdopted: (session: LiveSession, events: readonly IngressEvent[]) => void;
  /** Called when the journal and this state may differ: the session must be loaded again. */
  readonly onLost: (session: LiveSession) => void;
}

type Receipt = Either<Rejection, SubmitReceipt>;

interface Waiting {
  readonly request: Submit;
  readonly bytes: number;
  /** Null: this session is retired; ask the one that took its place. */
  readonly answer: (receipt: Receipt | null) => void;
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
  /** Where its load began. */
  readonly from: LoadedFrom;
  readonly #ports: SessionPorts;
  readonly #queue: Waiting[] = [];
  #queueBytes = 0;
  #state: SessionState;
  #chain: Digest;
  #chars: number;
  #draining = false;
  #retired = false;

  constructor({ state, chain, from }: LoadedSession, ports: SessionPorts) {
    this.id = state.session_id;
    this.#state = state;
    this.#chain = chain;
    this.from = from;
    this.#chars = from.chars;
    this.#ports = ports;
  }

  /** The state as of the last durable event. */
  state(): SessionState {
    return this.#state;
  }

  chain(): Digest {
    return this.#chain;
  }

  /** Characters of the events since the snapshot that its load began at. */
  chars(): number {
    return this.#chars;
  }

  /** True when nothing waits for this session and the outside owes it nothing. */
  isIdle(): boolean {
    return !this.#draining && !owesAnything(this.#state);
  }

  /** Takes nothing any more; what waits is answered with null. */
  retire(): void {
    this.#retired = true;
    for (const { answer } of this.#queue.splice(0)) answer(null);
  }

  /** The receipt of a request of so many bytes; null when the session was retired before it took it. */
  submit(request: Submit, bytes: number): Promise<Receipt | null> {
    if (this.#retired) return Promise.resolve(null);
    if (this.#queue.length >= QUEUE_MAX || this.#queueBytes + bytes > QUEUE_BYTES_MAX) {
      const waiting = `${this.#queue.length} requests of ${this.#queueBytes} bytes wait for session ${this.id}`;
      return Promise.resolve(left(reject('queue_full', '', waiting)));
    }
    return new Promise((answer) => {
      this.#queue.push({ request, bytes, answer });
      this.#queueBytes += bytes;
      if (!this.#draining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#queue.length > 0) {
      const together = takeTogether(this.#queue);
      for (const { bytes } of together) this.#queueBytes -= bytes;
      try {
        await this.#commit(together);
      } catch {
        // A fault of ours somewhere behind the steps: what is on disk decides, so it is read again.
        this.#lose();
        for (const { answer } of together) answer(left(writeFault()));
      }
    }
    this.#draining = false;
  }

  /** The fence. Its lines are in the order that durability needs. */
  async #commit(together: readonly Waiting[]): Promise<void> {
    let { tentative, receipts } = await this.#takeAll(together, 'if refused');
    // What was sent again may be something that could as well have happened anew. Then the journal refuses it, or what
    // came after it was refused because of it: it is all judged again, and every id looked up beforehand.
    const alone = together.length === 1 && together[0]?.request.events.length === 1;
    let failed = receipts.some(isLeft) && !alone ? DOUBTFUL : await this.#persist(tentative);
    if (failed?.code === 'version_conflict') {
      ({ tentative, receipts } = await this.#takeAll(together, 'first'));
      failed = await this.#persist(tentative);
    }
    if (failed === null) {
      this.#state = tentative.state;
      this.#chain = tentative.chain;
      for (const { event } of tentative.records) this.#chars += event.length;
    } else if (!recordedNothing(failed.code)) this.#lose();
    for (const [index, { answer }] of together.entries()) {
      const receipt = receipts[index] as Receipt;
      answer(failed === null || isLeft(receipt) ? receipt : left(failed));
    }
    if (failed === null && tentative.events.length > 0) this.#ports.onAdopted(this, tentative.events);
  }

  /** Steps requests one after the other, as far as they are taken. */
  async #takeAll(together: readonly Waiting[], lookUp: LookUp): Promise<Taken> {
    const tentative = tentativeFrom(this.#state, this.#chain);
    const receipts: Receipt[] = [];
    for (const { request } of together) receipts.push(await this.#takeSafely(request, tentative, lookUp));
    return { tentative, receipts };
  }

  #lose(): void {
    this.retire();
    this.#ports.onLost(this);
  }

  /** Makes blobs, then events durable; the rejection when that failed. */
  async #persist({ records, sealed, state }: Tentative): Promise<Rejection | null> {
    for (const page of sealed) {
      const stored = await this.#ports.blobs.put(new TextEncoder().encode(page))();
      if (isLeft(stored)) return stored.left;
    }
    if (records.length === 0) return null;
    const { version } = this.#state;
    const appended = await this.#ports.journal.append(this.id, version, records, owesAnything(state))();
    return isLeft(appended) ? appended.left : null;
  }

  // A step that throws is a fault of ours, and of this request alone: the state it began with is frozen, and nothing
  // of it is adopted.
  async #takeSafely(request: Submit, tentative: Tentative, lookUp: LookUp): Promise<Receipt> {
    try {
      return await this.#take(request, tentative, lookUp);
    } catch {
      return left(stepFault());
    }
  }

  /** Steps every event of a request, or none: a refused request leaves the tentative state as it was. */
  async #take(request: Submit, tentative: Tentative, lookUp: LookUp): Promise<Receipt> {
    const mine = tentativeFrom(tentative.state, tentative.chain);
    const appended: Appended[] = [];
    for (const [index, ingress] of request.events.entries()) {
      const pending = findPending(ingress, this.#state.version, [tentative, mine]);
      const taken = pending ?? (await this.#takeEvent(ingress, { request, tentative, mine, lookUp }));
      if (isLeft(taken)) return left(within(index, taken.left));
      appended.push(taken.right);
    }
    tentative.state = mine.state;
    tentative.chain = mine.chain;
    tentative.events.push(...mine.events);
    tentative.records.push(...mine.records);
    tentative.sealed.push(...mine.sealed);
    return right({ version: mine.state.version, state_digest: stateDigest(mine.state), events: appended });
  }

  // What is sent again is mostly refused, because what it reports has happened: the journal is asked only then.
  async #takeEvent(ingress: Ingress, { request, tentative, mine, lookUp }: Taking): Promise<Took> {
    const { expected_version: expected } = request;
    const conflicts = expected !== undefined && expected !== tentative.state.version;
    const early = conflicts || lookUp === 'first' ? await this.#find(ingress) : null;
    if (early !== null) return early;
    // Only what is new can be in conflict: a request sent again gets its first answer, whatever came after it.
    if (conflicts) {
      return left(reject('version_conflict', '/expected_version', `the session is at ${tentative.state.version}`));
    }
    const taken = await this.#takeNew(ingress, request, mine, tentative.events);
    if (isRight(taken) || lookUp === 'first') return taken;
    return (await this.#find(ingress)) ?? taken;
  }

  async #takeNew(ingress: Ingress, request: Submit, mine: Tentative, before: readonly IngressEvent[]): Promise<Took> {
    const refusal = this.#ports.refuseReport(this.id, ingress, request);
    if (refusal !== null) return left(refusal);
    const filled = await this.#fill(ingress, [...before, ...mine.events]);
    if (isLeft(filled)) return filled;
    const event = await toEvent(this.#ports, mine.state, filled.right);
    if (isLeft(event)) return event;
    const position = mine.state.version as number as Position;
    const stepped = step(mine.state, event.right);
    if (isLeft(stepped)) return stepped;
    const begins = !owesAnything(mine.state) && owesAnything(stepped.right.state);
    const tooMany = begins ? this.#ports.refuseWork(this.id) : null;
    const text = canonicalText(event.right);
    const refused = tooMany ?? findUnreadable(event.right, text);
    if (refused !== null) return left(refused);
    addStep(mine, event.right, text, stepped.right);
    return right({ event_id: event.right.event_id, position, repeated: false });
  }

  /** What an undo refers to is looked up in the stream; anything else is as it was sent. */
  async #fill(ingress: Ingress, pending: readonly IngressEvent[]): Promise<Either<Rejection, Ingress>> {
    if (ingress.kind !== 'UndoRequested') return right(ingress);
    const { journal } = this.#ports;
    return await fillUndo({ journal, id: this.id, version: this.#state.version, pending }, ingress);
  }

  /** Where what is sent is in the stream already, or why that cannot be told; null when it is not there. */
  async #find(sent: Ingress): Promise<Took | null> {
    const { event_id } = sent;
    if (event_id === undefined) return null;
    const { journal } = this.#ports;
    const found = await journal.find(this.id, event_id)();
    if (isLeft(found)) return found;
    if (found.right === null) return null;
    const read = await eventRecords(journal, this.id, found.right, 1);
    if (isLeft(read)) return read;
    const [record] = read.right;
    const other = record === undefined ? null : findOtherFact(sent, upcast(record.event));
    return other === null ? right({ event_id, position: found.right, repeated: true }) : left(other);
  }
}

/** Whether the journal is asked for an event id before the event is taken for new, or when it is refused. */
type LookUp = 'first' | 'if refused';

const DOUBTFUL = reject('version_conflict', '', 'it may have been sent before');

interface Taken {
  readonly tentative: Tentative;
  /** One for each request. */
  readonly receipts: readonly Receipt[];
}

interface Taking {
  readonly request: Submit;
  /** What the requests before this one led to. */
  readonly tentative: Tentative;
  readonly mine: Tentative;
  readonly lookUp: LookUp;
}

type Took = Either<Rejection, Appended>;

type Appended = SubmitReceipt['events'][number];

const tentativeFrom = (state: SessionState, chain: Digest): Tentative => ({
  state,
  chain,
  events: [],
  records: [],
  sealed: [],
});

/** A fault of one event, told by its place in the request; a conflict is one of the request itself. */
const within = (index: number, rejection: Rejection): Rejection =>
  rejection.code === 'version_conflict' ? rejection : { ...rejection, path: `/events/${index}${rejection.path}` };

/** Where what is sent is among the steps that are not durable yet. */
function findPending(sent: Ingress, durable: Version, pending: readonly Tentative[]): Took | null {
  const { event_id } = sent;
  if (event_id === undefined) return null;
  let first: number = durable;
  for (const { events } of pending) {
    const index = events.findIndex((event) => event.event_id === event_id);
    if (index !== -1) {
      const other = findOtherFact(sent, events[index] as IngressEvent);
      return other === null ? right({ event_id, position: (first + index) as Position, repeated: true }) : left(other);
    }
    first += events.length;
  }
  return null;
}

function addStep(to: Tentative, event: IngressEvent, text: string, { state, stateDigest, sealed }: Step): void {
  to.state = state;
  to.chain = nextChain(to.chain, digestText(text), stateDigest);
  to.events.push(event);
  to.records.push({ event: text, event_id: event.event_id, state_digest: stateDigest, chain: to.chain });
  if (sealed !== null) to.sealed.push(sealed.text);
}

/** The next requests whose events fit one append. */
function takeTogether(queue: Waiting[]): readonly Waiting[] {
  let events = 0;
  let bytes = 0;
  let count = 0;
  for (const waiting of queue) {
    events += waiting.request.events.length;
    bytes += waiting.bytes;
    if (count > 0 && (events > EVENTS_PER_APPEND_MAX || bytes > APPEND_BYTES_MAX)) break;
    count += 1;
  }
  return queue.splice(0, count);
}

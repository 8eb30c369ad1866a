// One live session: the only path by which a fact becomes part of its state (docs/design.md, law 3). Requests wait in a
// bounded queue. A group of them is stepped one by one and appended in one durable write; only then is the new state
// adopted, answered and published.
import { isLeft, left } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import { COMMIT_KEPT_CHARS_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Submit } from '../../../schemas/wire.ts';
import type { Clock } from '../../clock.ts';
import type { JournalCommit } from '../../journal/journal.ts';
import { owesBridge } from '../../core/owed/owing.ts';
import { headFacts } from '../../core/session-head.ts';
import { recordedNothing, tellError, writeFault } from '../faults.ts';
import type { LoadedFrom, LoadedSession } from '../sessions/load-session.ts';
import { storedPage } from '../sessions/records.ts';
import { Overtaken, isBrake } from './brakes.ts';
import { type PendingSteps, commitOf } from './pending-steps.ts';
import { type QueuedRequest, type Receipt, RequestQueue } from './request-queue.ts';
import { type LookUp, type StepPorts, type SteppedRequests, stepRequests } from './step-requests.ts';

export interface SessionPorts extends StepPorts {
  readonly clock: Clock;
  /** Called after each durable append, with the events that were adopted. */
  readonly onAdopted: (session: LiveSession, events: readonly IngressEvent[]) => void;
  /** Called when the journal and this state may differ: the session must be loaded again. */
  readonly onLost: (session: LiveSession) => void;
}

export class LiveSession {
  readonly id: SessionId;
  /** Where the load of this session began to fold. */
  readonly from: LoadedFrom;
  readonly #ports: SessionPorts;
  readonly #queue: RequestQueue;
  #state: SessionState;
  #chain: Digest;
  #chars: number;
  /** The last commit, unless it is large. */
  #last: JournalCommit | null = null;
  #draining = false;
  #retired = false;
  /** Gives up the group that waits for a check. */
  #overtake: (() => void) | null = null;

  constructor({ state, chain, from }: LoadedSession, ports: SessionPorts) {
    this.id = state.session_id;
    this.#state = state;
    this.#chain = chain;
    this.from = from;
    this.#chars = from.chars;
    this.#ports = ports;
    this.#queue = new RequestQueue(this.id);
  }

  /** The state as of the last durable event. */
  state(): SessionState {
    return this.#state;
  }

  chain(): Digest {
    return this.#chain;
  }

  /** The commit that begins at this position, if it is the last one and is kept in memory: a follower need not read it. */
  lastCommitAt(position: Position): JournalCommit | null {
    return this.#last?.position === position ? this.#last : null;
  }

  /** Characters of the events after the snapshot that the load began at. */
  chars(): number {
    return this.#chars;
  }

  /** True when no request is being handled and the session has no work for a bridge; people and times may be awaited. */
  isIdle(): boolean {
    return !this.#draining && !owesBridge(this.#state);
  }

  /** Accepts no further requests, and answers the waiting ones with null. */
  retire(): void {
    this.#retired = true;
    for (const { answer } of this.#queue.removeAll()) answer(null);
  }

  /** The receipt of a request of this size; null when the session was retired before it began the request. */
  submit(request: Submit, bytes: number): Promise<Receipt | null> {
    if (this.#retired) return Promise.resolve(null);
    const refusal = this.#queue.refuse(bytes);
    if (refusal !== null) return Promise.resolve(left(refusal));
    return new Promise((answer) => {
      this.#queue.add({ request, bytes, begun: new Map(), answer });
      if (isBrake(request)) this.#overtake?.();
      if (!this.#draining) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (!this.#queue.isEmpty()) {
      const group = this.#queue.removeGroup();
      try {
        await this.#commit(group);
      } catch (error) {
        if (error instanceof Overtaken) {
          this.#putBack(group);
          continue;
        }
        tellError(this.#ports.tellFault, this.id, 'writing events', error);
        // An internal error after stepping: only the journal shows what was recorded, so the session is loaded again.
        this.#lose();
        for (const { answer } of group) answer(left(writeFault()));
      }
    }
    this.#draining = false;
  }

  /** A group that was given up waits again, behind the requests that overtook it. */
  #putBack(group: readonly QueuedRequest[]): void {
    if (!this.#retired) this.#queue.putBackBehindBrakes(group);
    else for (const { answer } of group) answer(null);
  }

  /** Steps, appends, adopts, answers, publishes. Durability needs this order. */
  async #commit(group: readonly QueuedRequest[]): Promise<void> {
    let { steps, receipts } = await this.#step(group, 'if refused');
    const rest = this.#ports.pause();
    if (rest !== null) await rest;
    let commit = commitOf(steps, this.#chain);
    // An event that was sent again may also be valid as a new one. Then the journal refuses the append, or a later event
    // was refused because of it. So the group is stepped again, and every event id is looked up first.
    const alone = group.length === 1 && group[0]?.request.events.length === 1;
    let failed = receipts.some(isLeft) && !alone ? LOOK_UP_FIRST : await this.#persist(commit, steps);
    if (failed?.code === 'version_conflict') {
      ({ steps, receipts } = await this.#step(group, 'first'));
      commit = commitOf(steps, this.#chain);
      failed = await this.#persist(commit, steps);
    }
    if (failed === null) this.#adopt(commit, steps);
    else if (!recordedNothing(failed.code)) this.#lose();
    for (const [index, { answer }] of group.entries()) {
      const receipt = receipts[index] as Receipt;
      answer(failed === null || isLeft(receipt) ? receipt : left(failed));
    }
    if (failed === null && steps.events.length > 0) this.#ports.onAdopted(this, steps.events);
  }

  #adopt(commit: JournalCommit, { state }: PendingSteps): void {
    const { events, chain } = commit;
    if (events.length === 0) return;
    this.#state = state;
    this.#chain = chain;
    let chars = 0;
    for (const { text } of events) chars += text.length;
    this.#chars += chars;
    this.#last = chars <= COMMIT_KEPT_CHARS_MAX ? commit : null;
  }

  #step(group: readonly QueuedRequest[], lookUp: LookUp): Promise<SteppedRequests> {
    const start = {
      id: this.id,
      state: this.#state,
      wait: <T>(work: Promise<T>) => this.#waitUnlessOvertaken(group, work),
    };
    return stepRequests(this.#ports, start, group, lookUp);
  }

  /** Awaits a check for a request of this group; rejects when a request that ends work waits meanwhile. */
  async #waitUnlessOvertaken<T>(group: readonly QueuedRequest[], work: Promise<T>): Promise<T> {
    if (this.#queue.hasBrake() || group.some(({ request }) => isBrake(request))) throw new Overtaken();
    try {
      return await new Promise((resolve, fail) => {
        this.#overtake = () => fail(new Overtaken());
        work.then(resolve, fail);
      });
    } finally {
      this.#overtake = null;
    }
  }

  /** Makes the commit durable, with the pages that it sealed, in one write; the rejection when that failed. */
  async #persist(commit: JournalCommit, { sealed, state }: PendingSteps): Promise<Rejection | null> {
    if (commit.events.length === 0) return null;
    const { journal } = this.#ports;
    const appended = await journal.append(this.id, [commit], headFacts(state), sealed.map(storedPage))();
    return isLeft(appended) ? appended.left : null;
  }

  #lose(): void {
    this.retire();
    this.#ports.onLost(this);
  }
}

/** Makes the group be stepped again as if its append had conflicted; no caller sees it. */
const LOOK_UP_FIRST = reject('version_conflict', '', 'an event of this group may be recorded already');

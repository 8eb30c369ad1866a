// What is durable of one session, folded again as it becomes so, beside the engine and independent of what it
// believes: from the stored text, in a parse of its own, with every link held against the recorded one, and the digest
// of every few states and of the last. All laws are held against what comes of it.
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { Content } from '../../../schemas/content.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { BatchId, CallId, Digest, OwnerId, RunId } from '../../../schemas/ids.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import { invariant } from '../../../schemas/rejection.ts';
import type { ActiveToolBatch, SessionState } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import { nextChain } from '../../core/chain.ts';
import { readGenesisText } from '../../core/genesis-text.ts';
import { initialState } from '../../core/initial-state.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { foldEvent } from '../../core/step.ts';
import type { JournalRecord } from '../../journal/journal.ts';
import type { Judge } from './judge.ts';

/** One call a model made, and what is on record of it. */
export interface CallEntry {
  /** Null, as the plan: the run had made all the calls it may, and no batch was opened. */
  readonly batch_id: BatchId | null;
  readonly observed: ToolCallObserved;
  /** Null: the call was rejected. */
  readonly planned: PlannedToolCall | null;
  readonly plan: ToolBatchPlan | null;
  /** Who recorded a start of it. */
  readonly starters: OwnerId[];
  /** The attempt that is owed or running; counts from 1. */
  attempt: number;
  /** When that one may begin at the earliest, in milliseconds since 1970. */
  notBeforeMs: number;
  /** What its result says; null until there is one. */
  settled: Content | null;
  /** A person has allowed it. */
  allowed: boolean;
  /** It has ended otherwise: lost, or cancelled with its run. */
  ended: boolean;
}

/** Of a call that nothing has come of yet. */
const UNTRIED = { attempt: 1, notBeforeMs: 0, settled: null, allowed: false };

/** One event as it becomes durable, between the states before and after it. */
export interface Taken {
  readonly before: SessionState;
  readonly event: IngressEvent;
  readonly state: SessionState;
}

/** Of so many events the digest of one state is held against the recorded one, beside that of the last. */
const DIGEST_HELD_EVERY = 4;

type Watch = (book: Book, taken: Taken) => void;

export class Book {
  readonly genesis: Genesis;
  readonly events: IngressEvent[] = [];
  /** The state after each event; the first is the initial one. */
  readonly states: SessionState[];
  readonly calls = new Map<CallId, CallEntry>();
  readonly records: JournalRecord[] = [];
  /** Calls that a person had made in the place of others of the open batch, in order. */
  amended: CallId[] = [];
  /** How many calls the model has made in each run, as far as they were to be run. */
  readonly callsOf = new Map<RunId, number>();
  readonly #judge: Judge;
  readonly #watch: Watch;
  #chain: Digest;

  /** Of the stored text of a genesis record. */
  constructor(genesis: string, judge: Judge, watch: Watch) {
    const read = readGenesisText(genesis);
    invariant(!isLeft(read), 'the engine has stored what is no genesis record');
    this.genesis = read.right;
    const first = initialState(this.genesis);
    this.states = [first];
    this.#chain = first.genesis_digest;
    this.#judge = judge;
    this.#watch = watch;
  }

  state(): SessionState {
    return this.states.at(-1) as SessionState;
  }

  /** Takes over records that have become durable. */
  add(records: readonly JournalRecord[]): void {
    for (const record of records) if (!this.#addRecord(record)) return;
  }

  call(id: CallId): CallEntry | undefined {
    return this.calls.get(id);
  }

  /** Calls of a model that are answered and were never planned. */
  refuse(observed: readonly ToolCallObserved[]): void {
    for (const call of observed) {
      const none = { batch_id: null, planned: null, plan: null };
      this.calls.set(call.call_id, {
        ...none,
        observed: call,
        ...UNTRIED,
        starters: [],
        ended: true,
      });
    }
  }

  #addRecord(record: JournalRecord): boolean {
    const event = JSON.parse(record.event) as IngressEvent;
    const before = this.state();
    this.events.push(event);
    this.records.push(record);
    const state = this.#fold(record, event);
    if (state === null) return false;
    this.states.push(state);
    const batch = state.active_tool_batch;
    if (batch !== null && batch.batch_id !== before.active_tool_batch?.batch_id) this.#enter(batch);
    this.#watch(this, { before, event, state });
    return true;
  }

  /** The state after an event; null when the record does not say what comes of it. */
  #fold({ event: text, event_id, state_digest, chain }: JournalRecord, event: IngressEvent): SessionState | null {
    const diverged = (why: string): null => {
      this.#judge.fail('replay identity', `event ${this.events.length - 1} (${event.kind}): ${why} when folded again`);
      return null;
    };
    // The fold takes the event over, so that its text is looked at first.
    if (canonicalText(event) !== text) return diverged('other bytes than were stored');
    if (event.event_id !== event_id) return diverged('another id than is recorded');
    const folded = foldEvent(this.state(), event);
    if (isLeft(folded)) return diverged(folded.left.code);
    this.#chain = nextChain(this.#chain, digestText(text), state_digest);
    if (this.#chain !== chain) return diverged('another chain than is recorded');
    const { state } = folded.right;
    const held = this.events.length % DIGEST_HELD_EVERY !== 0 || stateDigest(state) === state_digest;
    return held ? state : diverged('another state digest than is recorded');
  }

  /** Holds the digest of the last state against the recorded one: it binds all that the events before it led to. */
  holdLast(): void {
    const last = this.records.at(-1);
    if (last === undefined || stateDigest(this.state()) === last.state_digest) return;
    this.#judge.fail('replay identity', `event ${last.event_id}: another state digest than is recorded, at the end`);
  }

  #enter({ batch_id, observed, plan }: ActiveToolBatch): void {
    const rejected = new Set(plan.rejected.map(({ index }) => index));
    const planned = new Map(plan.planned_calls.map((call) => [call.call_id, call]));
    for (const [index, call] of observed.entries()) {
      if (this.calls.has(call.call_id)) continue;
      this.calls.set(call.call_id, {
        batch_id,
        observed: call,
        planned: rejected.has(index) ? null : (planned.get(call.call_id) ?? null),
        plan,
        ...UNTRIED,
        starters: [],
        ended: false,
      });
    }
  }
}

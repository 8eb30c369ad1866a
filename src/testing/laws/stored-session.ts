// The durable events of one session, folded a second time as they are stored, independently of the engine. The fold
// starts from the stored text, parses it separately, compares every chain link with the recorded one, and compares the
// digests of every fourth state and of the last. The laws check the engine and the bridges against this state.
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

/** One call that a model made, and what is recorded about it. */
export interface CallEntry {
  /** Null, as is the plan, when the run had no calls left and no batch was opened. */
  readonly batch_id: BatchId | null;
  readonly observed: ToolCallObserved;
  /** Null when the call was rejected. */
  readonly planned: PlannedToolCall | null;
  readonly plan: ToolBatchPlan | null;
  /** The bridges that recorded a start of it. */
  readonly starters: OwnerId[];
  /** The attempt that is owed or running, counted from 1. */
  attempt: number;
  /** The earliest time that attempt may begin, in milliseconds since 1970. */
  notBeforeMs: number;
  /** The content of its result; null until it has one. */
  settled: Content | null;
  /** A person has allowed it. */
  allowed: boolean;
  /** It ended without a result: it was lost, or cancelled with its run. */
  ended: boolean;
}

/** The fields of a call that has not been attempted. */
const UNTRIED = { attempt: 1, notBeforeMs: 0, settled: null, allowed: false };

/** One durable event, with the states before and after it. */
export interface FoldedEvent {
  readonly before: SessionState;
  readonly event: IngressEvent;
  readonly state: SessionState;
}

/** One in this many state digests is compared with the recorded one, and the last one always. */
const DIGEST_CHECKED_EVERY = 4;

type Watch = (stored: StoredSession, folded: FoldedEvent) => void;

export class StoredSession {
  readonly genesis: Genesis;
  readonly events: IngressEvent[] = [];
  /** The state after each event; the first is the initial state. */
  readonly states: SessionState[];
  readonly calls = new Map<CallId, CallEntry>();
  readonly records: JournalRecord[] = [];
  /** Calls that a person made in place of others of the open batch, in order. */
  amended: CallId[] = [];
  /** How many calls the model has made in each run. */
  readonly callsOf = new Map<RunId, number>();
  readonly #judge: Judge;
  readonly #watch: Watch;
  #chain: Digest;

  /** Takes the stored text of a genesis record. */
  constructor(genesis: string, judge: Judge, watch: Watch) {
    const read = readGenesisText(genesis);
    invariant(!isLeft(read), 'the engine stored a genesis record that does not decode');
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

  /** Folds records that have become durable. */
  add(records: readonly JournalRecord[]): void {
    for (const record of records) if (!this.#addRecord(record)) return;
  }

  call(id: CallId): CallEntry | undefined {
    return this.calls.get(id);
  }

  /** Notes calls that are answered without being planned. */
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

  /** The state after an event; null when the record does not match it. */
  #fold({ event: text, event_id, state_digest, chain }: JournalRecord, event: IngressEvent): SessionState | null {
    const diverged = (why: string): null => {
      this.#judge.fail('replay identity', `event ${this.events.length - 1} (${event.kind}), folded again: ${why}`);
      return null;
    };
    // The fold takes ownership of the event, so its text is compared first.
    if (canonicalText(event) !== text) return diverged('the bytes differ from the stored ones');
    if (event.event_id !== event_id) return diverged('the id differs from the recorded one');
    const folded = foldEvent(this.state(), event);
    if (isLeft(folded)) return diverged(folded.left.code);
    this.#chain = nextChain(this.#chain, digestText(text), state_digest);
    if (this.#chain !== chain) return diverged('the chain differs from the recorded one');
    const { state } = folded.right;
    const matches = this.events.length % DIGEST_CHECKED_EVERY !== 0 || stateDigest(state) === state_digest;
    return matches ? state : diverged('the state digest differs from the recorded one');
  }

  /** Compares the digest of the last state with the recorded one: it covers everything the earlier events led to. */
  checkLast(): void {
    const last = this.records.at(-1);
    if (last === undefined || stateDigest(this.state()) === last.state_digest) return;
    this.#judge.fail('replay identity', `event ${last.event_id}: the last state digest differs from the recorded one`);
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

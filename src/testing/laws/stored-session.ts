// The durable events of one session, folded a second time as they are stored, independently of the engine. The fold
// starts from the stored text, parses it separately, compares every chain link with the recorded one, and compares the
// digests of the states after every fourth commit and after the last. The laws check the engine and the bridges against this state.
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText, digestText } from '../../../schemas/canonical.ts';
import type { PreviewedFiles } from '../../../schemas/consent.ts';
import type { Content } from '../../../schemas/content.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { BatchId, CallId, Digest, OwnerId, Position, RunId } from '../../../schemas/ids.ts';
import { type Json, type JsonObject, freezeJson } from '../../../schemas/json.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { invariant } from '../../../schemas/rejection.ts';
import type { ActiveToolBatch, SessionState, TranscriptEntry, TranscriptPage } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import { genesisChain, nextChain } from '../../core/chain.ts';
import { initialState } from '../../core/initial-state.ts';
import { newLawCheck } from '../../core/law-check.ts';
import { readPackageText } from '../../core/package-parts.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { type Folded, foldEvent } from '../../core/step.ts';
import type { JournalCommit, JournalEvent, StoredPackage } from '../../journal/journal.ts';
import { type CallLeft, newCallLeft } from './call-left.ts';
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
  /** A person must allow it before it starts. */
  asks: boolean;
  /** A person has allowed it. */
  allowed: boolean;
  /** What is recorded of its preview since it was asked about last; the digest is null when there is a reason for none. */
  preview: { readonly digest: Digest | null; readonly files: PreviewedFiles } | null;
  /** The files of the preview that the answer names which allowed it; null when it names none. */
  named: PreviewedFiles | null;
  /** It ended without a result: it was lost, or cancelled with its run. */
  ended: boolean;
  /** What its attempts note, ask and leave. */
  readonly left: CallLeft;
}

/** A toolset as the events tell it: its definitions, and those that were approved, by tool id. */
export interface RecordedToolset {
  readonly present: ReadonlyMap<string, Digest>;
  readonly approved: ReadonlyMap<string, Digest>;
}

/** A grant as the events tell it: the tool, and the arguments of the call that it was given for. */
export interface RecordedGrant {
  readonly tool_ref: Digest;
  /** Null for a grant of the whole tool. */
  readonly argument: string | null;
  readonly args: JsonObject;
}

/** The fields of a call that has not been attempted. */
const UNTRIED = { attempt: 1, notBeforeMs: 0, settled: null, asks: false, allowed: false, preview: null, named: null };

/** What the generate of a turn shows the model. */
export interface Asked {
  /** How many calls the summary stands for. */
  readonly calls: number;
  /** The text of the summary, or its beginning; null without one. */
  readonly summary: string | null;
}

/** One durable event, with the states before and after it. */
export interface FoldedEvent {
  readonly before: SessionState;
  readonly event: IngressEvent;
  readonly state: SessionState;
}

/** The state digest of one commit in this many is compared with the recorded one, and the last one always. */
const DIGEST_CHECKED_EVERY = 4;

/** What a stream begins with, as the engine stored it. */
export interface StoredOrigin {
  readonly genesis: string;
  readonly tool_package: StoredPackage;
}

type Watch = (stored: StoredSession, folded: FoldedEvent) => void;

export class StoredSession {
  readonly genesis: Genesis;
  readonly tool_package: ToolPackage;
  readonly events: IngressEvent[] = [];
  /** The state after each event; the first is the initial state. */
  readonly states: SessionState[];
  readonly calls = new Map<CallId, CallEntry>();
  readonly commits: JournalCommit[] = [];
  /** Judges the record by itself, as an auditor does. */
  readonly onRecord = newLawCheck();
  /** Calls that a person made in place of others of the open batch, in order. */
  amended: CallId[] = [];
  /** The calls with an open question. */
  readonly asking = new Set<CallId>();
  /** The toolsets of the session. */
  readonly toolsets = new Map<string, RecordedToolset>();
  /** The grants in force. */
  grants: RecordedGrant[] = [];
  /** How many calls the model has made in each run. */
  readonly callsOf = new Map<RunId, number>();
  /** The generates that were owed, by run and turn. */
  readonly asked = new Map<string, Asked>();
  /** How many calls the summary stands for. */
  replacedCalls = 0;
  readonly #pages = new Map<Digest, readonly TranscriptEntry[]>();
  readonly #judge: Judge;
  readonly #watch: Watch;
  #chain: Digest;

  /** Takes the stored texts of a genesis record and its tool package. */
  constructor({ genesis, tool_package }: StoredOrigin, judge: Judge, watch: Watch) {
    const read = readPackageText(tool_package.text, tool_package.digest);
    invariant(!isLeft(read), 'the engine stored a tool package that does not decode');
    this.tool_package = read.right;
    this.genesis = freezeJson(JSON.parse(genesis) as Genesis & Json);
    const first = initialState(this.genesis, this.tool_package);
    this.states = [first];
    this.#chain = genesisChain(first);
    this.#judge = judge;
    this.#watch = watch;
  }

  state(): SessionState {
    return this.states.at(-1) as SessionState;
  }

  /** Folds commits that have become durable. */
  add(commits: readonly JournalCommit[]): void {
    for (const commit of commits) if (!this.#addCommit(commit)) return;
  }

  call(id: CallId): CallEntry | undefined {
    return this.calls.get(id);
  }

  /** The entries of sealed pages. */
  entriesOf(pages: readonly Digest[]): readonly TranscriptEntry[] {
    return pages.flatMap((page) => this.#pages.get(page) ?? []);
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
        left: newCallLeft(),
      });
    }
  }

  #addCommit(commit: JournalCommit): boolean {
    const { position, events, state_digest, chain } = commit;
    if (position !== (this.events.length as Position)) return this.#diverged(`the commit begins at ${position}`);
    this.commits.push(commit);
    for (const stored of events) if (!this.#addEvent(stored)) return false;
    this.#chain = nextChain(
      this.#chain,
      events.map(({ text }) => digestText(text)),
      state_digest,
    );
    if (this.#chain !== chain) return this.#diverged('the chain differs from the recorded one');
    const matches = this.commits.length % DIGEST_CHECKED_EVERY !== 0 || stateDigest(this.state()) === state_digest;
    return matches || this.#diverged('the state digest differs from the recorded one');
  }

  #diverged(why: string): false {
    const last = this.events.at(-1);
    this.#judge.fail('replay identity', `event ${this.events.length - 1} (${last?.kind}), folded again: ${why}`);
    return false;
  }

  #addEvent(stored: JournalEvent): boolean {
    const event = JSON.parse(stored.text) as IngressEvent;
    const before = this.state();
    this.events.push(event);
    const folded = this.#fold(stored, event);
    if (folded === null) return false;
    const { state, sealed } = folded;
    if (sealed !== null) this.#pages.set(sealed.ref, (JSON.parse(sealed.text) as TranscriptPage).entries);
    this.states.push(state);
    this.onRecord.add({ position: (this.events.length - 1) as Position, event, before, after: state, sealed });
    const batch = state.active_tool_batch;
    if (batch !== null && batch.batch_id !== before.active_tool_batch?.batch_id) this.#enter(batch);
    this.#watch(this, { before, event, state });
    return true;
  }

  /** The state after an event, and the page it sealed; null when the stored text does not match it. */
  #fold({ text, event_id }: JournalEvent, event: IngressEvent): Folded | null {
    const diverged = (why: string): null => {
      this.#diverged(why);
      return null;
    };
    // The fold takes ownership of the event, so its text is compared first.
    if (canonicalText(event) !== text) return diverged('the bytes differ from the stored ones');
    if (event.event_id !== event_id) return diverged('the id differs from the recorded one');
    const folded = foldEvent(this.state(), event);
    return isLeft(folded) ? diverged(folded.left.code) : folded.right;
  }

  /** Compares the digest of the last state with the recorded one: it covers everything the earlier events led to. */
  checkLast(): void {
    const last = this.commits.at(-1);
    if (last === undefined || stateDigest(this.state()) === last.state_digest) return;
    this.#diverged('the last state digest differs from the recorded one');
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
        left: newCallLeft(),
      });
    }
  }
}

/** The stream as it is stored. */
export function* recordsOf({ genesis, tool_package, commits, states }: StoredSession): Generator<StreamRecord> {
  const initial = states[0] as SessionState;
  yield { kind: 'package', digest: genesis.tool_package_digest, tool_package };
  yield { kind: 'genesis', format: 2, genesis, state_digest: stateDigest(initial), chain: genesisChain(initial) };
  for (const { position, events, state_digest, chain } of commits) {
    yield { kind: 'commit', position, events: events.map(({ text }) => JSON.parse(text)), state_digest, chain };
  }
}

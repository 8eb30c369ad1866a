// Replay: folds a recorded stream again and compares every digest with the recorded one (docs/design.md, law 1).
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SealedPage } from '../../reducers/transcript.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Digest, Position } from '../../schemas/ids.ts';
import {
  type CommitRecord,
  type GenesisRecord,
  type PackageRecord,
  type StreamRecord,
  eventsIn,
} from '../../schemas/record.ts';
import { type Rejection, type RejectionCode, unreachable } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { upcast } from '../../schemas/upcast.ts';
import { eventDigest, genesisChain, nextChain } from './chain.ts';
import type { FoldedEvent } from './folded-event.ts';
import { checkGenesis, initialState } from './initial-state.ts';
import { checkPackage } from './package-parts.ts';
import { measuredFault } from './measured.ts';
import { stateDigest } from './state-digest.ts';
import { foldEvent } from './step.ts';
import { type Steps, runSteps } from './steps.ts';

/** The first fault of a replay, and how it differs from the record. */
export interface Divergence {
  /**
   * The event that cannot be folded, or the last event of the commit whose digests differ; -1 is the genesis record, or its
   * tool package.
   */
  readonly position: number;
  /** The position of the first event of its commit; null before the first commit. */
  readonly commit: number | null;
  /** What differs: the record cannot be read, the event cannot be folded, or a digest is another one. */
  readonly what: 'record' | 'event' | 'state_digest' | 'chain';
  /** What is wrong, for people. */
  readonly message: string;
  /** Of a record that this version refuses. */
  readonly code?: RejectionCode;
  /** The digest in the record; absent when no digest differs. */
  readonly recorded?: string;
  /** The digest of the replay; absent when no digest differs. */
  readonly replayed?: string;
}

export interface Replay {
  /** The state after the last commit that agrees with the record. */
  readonly state: SessionState | null;
  readonly stateDigest: Digest | null;
  readonly chain: Digest | null;
  /** Events folded. */
  readonly events: number;
  /** Null when every digest agrees: the replay is byte-identical. */
  readonly divergence: Divergence | null;
}

/** Folds records one by one, so that a stream of any length needs the memory of one state. */
export interface Replayer {
  /** False when this record diverged; no further record is accepted. */
  add(record: StreamRecord): boolean;
  /** The same in steps: one for each event of a commit, which has up to 256. Nothing else is asked before the last. */
  addInSteps(record: StreamRecord): Steps<boolean>;
  /** The transcript pages that the last commit sealed, blobs that the state refers to. */
  sealed(): readonly SealedPage[];
  /** What was folded so far. A stream without a genesis record diverges at position -1. */
  result(): Replay;
}

export interface ReplayOptions {
  /** Where to go on: after a commit whose digests agreed. From the beginning when absent. */
  readonly from?: ReplayStart;
  /** True: chain values are taken as they are recorded, for a reader that checks them beside (`newChainCheck`). */
  readonly statesOnly?: boolean;
  /** True: what the edge measured is taken as it is recorded, for a reader that measures it beside (`newLawCheck`). */
  readonly asMeasured?: boolean;
}

/** What was folded so far: the state after a commit, and the chain value. */
export interface ReplayStart {
  /** The state after the last commit, or of the genesis record. */
  readonly state: SessionState;
  /** The chain value there. */
  readonly chain: Digest;
}

/**
 * A replayer of one stream. `onEvent` is called with each event that was folded, before the digests of its commit are
 * compared.
 */
export function newReplayer(onEvent: OnEvent = () => undefined, options: ReplayOptions = {}): Replayer {
  const { statesOnly = false, asMeasured = false } = options;
  const fold: CommitFold = { onEvent, statesOnly, asMeasured };
  let tools: PackageRecord | null = null;
  let head: ReplayStart | null = options.from ?? null;
  let sealed: readonly SealedPage[] = [];
  let divergence: Divergence | null = null;

  /** What a record leads to; null when it diverges, which is then noted. */
  function taken<T>(found: Either<Divergence, T>): T | null {
    if (!isLeft(found)) return found.right;
    divergence = found.left;
    return null;
  }

  function* addCommit(record: CommitRecord): Steps<boolean> {
    const next = taken(yield* foldCommit(head, record, fold));
    if (next === null) return false;
    ({ head, sealed } = next);
    return true;
  }

  function* addInSteps(record: StreamRecord): Steps<boolean> {
    if (divergence !== null) return false;
    switch (record.kind) {
      case 'package':
        tools = taken(readPackage(record, tools, head)) ?? tools;
        return divergence === null;
      case 'genesis':
        head = taken(begin(record, tools, head, fold)) ?? head;
        return divergence === null;
      case 'commit':
        return yield* addCommit(record);
      default:
        return unreachable(record);
    }
  }

  return {
    add: (record) => runSteps(addInSteps(record)),
    addInSteps,
    sealed: () => sealed,
    result: () => ({
      state: head?.state ?? null,
      stateDigest: head === null ? null : stateDigest(head.state),
      chain: head?.chain ?? null,
      events: head?.state.version ?? 0,
      divergence: divergence ?? (head === null ? EMPTY : null),
    }),
  };
}

type OnEvent = (folded: FoldedEvent) => void;
type Place = Pick<Divergence, 'position' | 'commit'>;

interface CommitFold {
  readonly onEvent: OnEvent;
  readonly statesOnly: boolean;
  readonly asMeasured: boolean;
}

function readPackage(
  { digest, tool_package }: PackageRecord,
  before: PackageRecord | null,
  head: ReplayStart | null,
): Either<Divergence, PackageRecord> {
  if (before !== null) return left(badRecord(afterOf(head), 'the stream has a second tool package'));
  const checked = checkPackage(tool_package, digest);
  if (isLeft(checked)) return left(refused(BEFORE, 'record', checked.left));
  return right({ kind: 'package', digest, tool_package: checked.right });
}

function begin(
  record: GenesisRecord,
  tools: PackageRecord | null,
  head: ReplayStart | null,
  { statesOnly }: CommitFold,
): Either<Divergence, ReplayStart> {
  if (head !== null) return left(badRecord(afterOf(head), 'the stream has a second genesis record'));
  const { tool_package_digest: named } = record.genesis;
  if (tools?.digest !== named) {
    const found = tools === null ? 'no tool package' : `the tool package ${tools.digest}`;
    return left(badRecord(BEFORE, `the genesis record names the tool package ${named}, and ${found} comes before it`));
  }
  const checked = checkGenesis(record.genesis, tools.tool_package);
  if (isLeft(checked)) return left(refused(BEFORE, 'record', checked.left));
  const state = initialState(checked.right, tools.tool_package);
  return comparedWith(record, BEFORE, { state, chain: statesOnly ? record.chain : genesisChain(state) });
}

interface FoldedCommit {
  readonly head: ReplayStart;
  readonly sealed: readonly SealedPage[];
}

function* foldCommit(
  from: ReplayStart | null,
  record: CommitRecord,
  { onEvent, statesOnly, asMeasured }: CommitFold,
): Steps<Either<Divergence, FoldedCommit>> {
  if (from === null) return left(badRecord(BEFORE, 'the stream does not begin with a genesis record'));
  const commit = from.state.version as number;
  if (record.position !== (commit as Position)) {
    return left(badRecord(afterOf(from), `the position is ${record.position}; it must be ${commit}`));
  }
  const digests: Digest[] = [];
  const sealed: SealedPage[] = [];
  let { state } = from;
  let wrong: Divergence | null = null;
  for (const { position, event } of eventsIn(record)) {
    const folded = foldEvent(state, event);
    if (isLeft(folded)) return left(refused({ position, commit }, 'event', folded.left));
    if (!statesOnly) digests.push(eventDigest(event));
    const { state: after, sealed: page } = folded.right;
    const current = upcast(event);
    if (!asMeasured) wrong ??= wrongIn(current, { position, commit });
    onEvent({ position, event: current, before: state, after, sealed: page });
    if (page !== null) sealed.push(page);
    state = after;
    yield;
  }
  const head = { state, chain: statesOnly ? record.chain : nextChain(from.chain, digests, stateDigest(state)) };
  const compared = comparedWith(record, { position: state.version - 1, commit }, head);
  // A record whose digests differ was altered, which says more than what else is wrong about it.
  return isLeft(compared) ? compared : wrong === null ? right({ head, sealed }) : left(wrong);
}

/** What no edge would have measured so, as a divergence. */
function wrongIn(event: IngressEvent, at: Place): Divergence | null {
  const fault = measuredFault(event);
  return fault === null ? null : refused(at, 'event', fault);
}

/** What was folded, when the record has its digests. */
function comparedWith(
  record: Pick<CommitRecord, 'state_digest' | 'chain'>,
  at: Place,
  head: ReplayStart,
): Either<Divergence, ReplayStart> {
  const replayed = { state_digest: stateDigest(head.state), chain: head.chain };
  for (const what of ['state_digest', 'chain'] as const) {
    if (record[what] === replayed[what]) continue;
    return left({ ...at, what, message: `the ${what} differs`, recorded: record[what], replayed: replayed[what] });
  }
  return right(head);
}

/** The place of faults before the first commit. */
export const BEFORE = { position: -1, commit: null } as const;

/** The place right after what was folded. */
const afterOf = (head: ReplayStart | null): Place =>
  head === null ? BEFORE : { position: head.state.version, commit: head.state.version };

export const EMPTY: Divergence = { ...BEFORE, what: 'record', message: 'the stream has no genesis record' };

export const badRecord = (at: Place, message: string): Divergence => ({ ...at, what: 'record', message });

export const refused = (at: Place, what: Divergence['what'], { code, path, message }: Rejection): Divergence => ({
  ...at,
  what,
  message: `${code} at "${path}": ${message}`,
  code,
});

/** Replays a whole stream: the tool package, the genesis record, then the commits. */
export function replay(records: Iterable<StreamRecord>): Replay {
  const replayer = newReplayer();
  for (const record of records) if (!replayer.add(record)) break;
  return replayer.result();
}

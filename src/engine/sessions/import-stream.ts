// Imports an exported stream into a journal: each record is folded and verified, and stored only when it verifies. The
// transcript pages that the fold seals are stored again, as where the stream was recorded. What was decided there has no
// effect here: the import ends with facts of its own, and until then the journal has an incomplete copy, which the import
// of the same file continues.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX, SNAPSHOT_EVERY_EVENTS } from '../../../schemas/limits.ts';
import {
  type CommitRecord,
  type GenesisRecord,
  type PackageRecord,
  type StreamRecord,
  versionAfter,
} from '../../../schemas/record.ts';
import { type Rejection, invariant, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import type { SessionSummary } from '../../../schemas/wire.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import type { SealedPage } from '../../../reducers/transcript.ts';
import { endImport } from '../../core/copies/end-import.ts';
import type { OwnCommits } from '../../core/copies/own-facts.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { type Divergence, type Replay, type ReplayStart, newReplayer, refused } from '../../core/replay.ts';
import { headFacts } from '../../core/session-head.ts';
import { makeSnapshot } from '../../core/snapshot.ts';
import type { Journal, JournalCommit } from '../../journal/journal.ts';
import { type MeasureAgain, type MeasuredFault, newMeasureAgain } from '../edge/measure-again.ts';
import { type Growth, addPages, beginCopy, completeCopy, growCopy } from './copy-stream.ts';
import { findUnbounded } from './import-bounds.ts';
import { storedCommit } from './records.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** The stores that a stream is imported into. */
export interface ImportPorts {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /**
   * The time of the facts that follow the stream (`endImport`). Null to store the stream exactly as it was recorded: its run,
   * its approvals and its grants then count here.
   */
  readonly own_facts_at_ms: number | null;
}

export interface Imported extends SessionSummary {
  /** How many of its events are the import's own. */
  readonly own_facts: number;
  /** Whether an earlier import had stored its beginning. */
  readonly continued: boolean;
}

/**
 * Stores a stream as a new session, or the rest of it when an import of it was cut off: `session_exists` when the journal
 * contains anything else. A record that does not verify ends the import: `damaged`, with its position; `measured_wrong` when
 * an edge would have recorded it otherwise; `rules_unknown` when only a later version of refold can fold it; `too_large` for
 * an event that no engine records. Whatever ends it leaves an incomplete copy, or nothing.
 */
export async function importStream(
  { journal, blobs, own_facts_at_ms }: ImportPorts,
  records: AsyncIterable<StreamRecord>,
): Answer<Imported> {
  const target = newTarget(journal);
  const end = await pipe(
    () => storeWhatVerifies(records, blobs, target),
    TE.chain((result) =>
      result.divergence === null
        ? TE.fromEither(endOf(result, own_facts_at_ms))
        : TE.leftTask(() => faultOf(result.divergence as Divergence, target)),
    ),
  )();
  if (isLeft(end)) return end;
  const { own, state, chain } = end.right;
  const failed = await target.finish({ commits: own.commits.map(storedCommit), pages: own.sealed }, state);
  if (failed !== null) return left(failed);
  const snapshot = state.version < SNAPSHOT_EVERY_EVENTS ? null : makeSnapshot(state, chain);
  // A snapshot only makes loading faster: when writing it fails, the import still succeeds.
  if (snapshot !== null) await journal.snapshots.put(snapshot)();
  const own_facts = own.commits.reduce((sum, { events }) => sum + events.length, 0);
  const continued = target.hasContinued();
  return right({ session_id: state.session_id, version: state.version, ...headFacts(state), own_facts, continued });
}

/** Stores each record that verifies, up to the first one that does not; what was folded by then. */
async function storeWhatVerifies(records: AsyncIterable<StreamRecord>, blobs: Blobs, target: Target): Answer<Replay> {
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((one) => folded.push(one));
  const again = newMeasureAgain(blobs);
  let result = replayer.result();
  for await (const record of records) {
    if (!replayer.add(record)) return right(replayer.result());
    const wrong = await firstFault(again, folded.splice(0));
    if (wrong !== null) return endedBy(wrong, result);
    result = replayer.result();
    const failed = await target.add(record, replayer.sealed());
    if (failed !== null) return left(failed);
  }
  const open = result.state === null ? null : await again.finish(result.state);
  return open === null ? right(result) : endedBy(open, result);
}

/** What was folded before an event that was measured otherwise; or the fault of a store. */
const endedBy = (wrong: MeasuredFault, before: Replay): Either<Rejection, Replay> =>
  wrong.fault.code === 'measured_wrong'
    ? right({ ...before, divergence: measuredOtherwise(wrong) })
    : left(wrong.fault);

async function firstFault(again: MeasureAgain, folded: readonly FoldedEvent[]): Promise<MeasuredFault | null> {
  for (const one of folded) {
    const fault = await again.add(one);
    if (fault !== null) return fault;
  }
  return null;
}

const measuredOtherwise = ({ position, fault }: MeasuredFault): Divergence =>
  refused({ position, commit: null }, 'event', fault);

/** How the session ends here: the facts of its own, and the state and the chain value after them. */
interface ImportEnd extends ReplayStart {
  readonly own: Pick<OwnCommits, 'commits' | 'sealed'>;
}

function endOf({ state, chain }: Replay, at_ms: number | null): Either<Rejection, ImportEnd> {
  invariant(state !== null && chain !== null, 'a stream without a genesis record diverges');
  if (at_ms === null) return right({ own: { commits: [], sealed: [] }, state, chain });
  const ended = endImport(state, chain, at_ms);
  if (isLeft(ended)) return left(reject('damaged', '', `the session cannot be made to wait: ${ended.left.message}`));
  const { commits, sealed } = ended.right;
  return right({ own: { commits, sealed }, state: ended.right.state, chain: commits.at(-1)?.chain ?? chain });
}

/** The fault of the record that ended the import; what came before it is stored, so that the corrected file goes on there. */
async function faultOf({ position, message, code }: Divergence, target: Target): Promise<Rejection> {
  const failed = await target.flush();
  if (failed !== null) return failed;
  const stored = target.hasBegun() ? 'an incomplete copy of what comes before it is stored' : 'nothing is stored';
  const told = code === 'rules_unknown' || code === 'measured_wrong' ? code : 'damaged';
  return reject(told, '', `position ${position}: ${message}; ${stored}`);
}

/** Stores the commits that the journal does not contain yet, many in one write. */
interface Target {
  /** Adds a verified record and the pages that it sealed; the rejection when it cannot be stored. */
  add(record: StreamRecord, sealed: readonly SealedPage[]): Promise<Rejection | null>;
  /** Stores what was added. */
  flush(): Promise<Rejection | null>;
  /** Stores the rest, and this after it, which leads to the state, in the write that completes the copy. */
  finish(own: Growth, state: SessionState): Promise<Rejection | null>;
  /** Whether there is a copy. */
  hasBegun(): boolean;
  /** Whether an earlier import had begun it. */
  hasContinued(): boolean;
}

function newTarget(journal: Journal): Target {
  let begun: Begun | null = null;
  let pending: JournalCommit[] = [];
  let pages: SealedPage[] = [];
  let events = 0;
  let version = 0;
  let tools: PackageRecord | null = null;

  async function flush(): Promise<Rejection | null> {
    if (begun === null) return null;
    const grown = await growCopy(journal, begun.id, { commits: pending, pages })();
    if (isLeft(grown)) return grown.left;
    [pending, pages, events] = [[], [], 0];
    return null;
  }

  async function addGenesis(record: GenesisRecord): Promise<Rejection | null> {
    invariant(tools !== null, 'a genesis record that verifies comes after its tool package');
    const begins = await begin(journal, record, tools.tool_package);
    if (isLeft(begins)) return begins.left;
    begun = begins.right;
    return null;
  }

  async function addCommit(
    record: CommitRecord,
    sealed: readonly SealedPage[],
    { id, ...stored }: Begun,
  ): Promise<Rejection | null> {
    version = versionAfter(record);
    if (record.position < stored.version) {
      // The chain value of the last stored commit covers all commits before it.
      if (version >= stored.version && record.chain !== stored.chain) return otherSession(id);
      const added = sealed.length === 0 ? right(undefined) : await addPages(journal, id, stored.version, sealed)();
      return isLeft(added) ? added.left : null;
    }
    // The last commits are stored together with the facts of the import's own.
    const failed = events >= EVENTS_PER_COMMIT_MAX ? await flush() : null;
    if (failed !== null) return failed;
    const commit = storedCommit(record);
    const unbounded = findUnbounded(record, commit);
    if (unbounded !== null) return unbounded;
    pending.push(commit);
    pages.push(...sealed);
    events += record.events.length;
    return null;
  }

  return {
    flush,
    hasBegun: () => begun !== null,
    hasContinued: () => begun?.isNew === false,
    async finish(own, state) {
      invariant(begun !== null, 'a stream that verifies has a genesis record');
      // The copy has events that this stream does not have.
      if (version < begun.version) return otherSession(begun.id);
      const growth = { commits: [...pending, ...own.commits], pages: [...pages, ...own.pages] };
      const completed = await completeCopy(journal, begun.id, growth, state)();
      return isLeft(completed) ? completed.left : null;
    },
    async add(record, sealed) {
      if (record.kind === 'package') {
        tools = record;
        return null;
      }
      if (record.kind === 'genesis') return await addGenesis(record);
      invariant(begun !== null, 'a commit that verifies comes after a genesis record');
      return await addCommit(record, sealed, begun);
    },
  };
}

/** The copy that an import writes: its version, and the chain value after its last commit. */
interface Begun {
  readonly id: SessionId;
  readonly isNew: boolean;
  readonly version: Version;
  readonly chain: Digest;
}

/** Begins the copy, or finds what an import of the same genesis that was cut off has stored. */
async function begin(journal: Journal, { genesis, chain }: GenesisRecord, tool_package: ToolPackage): Answer<Begun> {
  const id = genesis.session_id;
  const created = await beginCopy(journal, { genesis, tool_package })();
  if (!isLeft(created)) return right({ id, isNew: true, version: 0 as Version, chain });
  if (created.left.code !== 'session_exists') return created;
  return await pipe(
    journal.genesisOfCopy(id),
    TE.filterOrElse(
      (stored) => stored === canonicalText(genesis),
      () => otherSession(id),
    ),
    TE.chain(() => journal.head(id)),
    TE.bind('last', ({ version }) => (version === 0 ? TE.right([]) : journal.read(id, (version - 1) as Position, 1))),
    TE.map(({ version, last }) => ({ id, isNew: false, version, chain: last[0]?.chain ?? chain })),
    TE.mapLeft((fault) => (fault.code === 'session_exists' ? otherSession(id) : fault)),
  )();
}

const otherSession = (id: SessionId): Rejection =>
  reject(
    'session_exists',
    '',
    `session ${id} exists already, and this stream does not continue it; import it into another data directory`,
  );

// Imports an exported stream into a journal: each record is folded and verified, and stored only when it verifies. An
// interrupted import resumes where it stopped. The transcript pages that the fold seals become blobs again, as where
// the stream was recorded. What was decided there has no effect here: the import ends with facts of its own.
import * as E from 'fp-ts/lib/Either.js';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX, SNAPSHOT_EVERY_EVENTS } from '../../../schemas/limits.ts';
import { type GenesisRecord, type PackageRecord, type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import { type Rejection, invariant, reject } from '../../../schemas/rejection.ts';
import type { HeadFacts } from '../../../schemas/session-head.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import type { SessionSummary } from '../../../schemas/wire.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { endImport } from '../../core/copies/end-import.ts';
import type { OwnCommits } from '../../core/copies/own-facts.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { type Divergence, type Replay, newReplayer, refused } from '../../core/replay.ts';
import { CUT_OFF, headFacts } from '../../core/session-head.ts';
import { makeSnapshot } from '../../core/snapshot.ts';
import type { Journal, JournalCommit } from '../../journal/journal.ts';
import { type MeasureAgain, type MeasuredFault, newMeasureAgain } from '../edge/measure-again.ts';
import { createStream } from './create-stream.ts';
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
}

/**
 * Stores a stream as a new session, or the rest of it when the journal contains its beginning: `session_exists` when the
 * journal contains anything else, or all of it. A record that does not verify ends the import: `damaged`, with its
 * position; `measured_wrong` when an edge would have recorded it otherwise; `rules_unknown` when only a later version of
 * refold can fold it.
 */
export async function importStream(
  { journal, blobs, own_facts_at_ms }: ImportPorts,
  records: AsyncIterable<StreamRecord>,
): Answer<Imported> {
  const target = newTarget(journal);
  const stored = await storeWhatVerifies(records, blobs, target);
  const end = pipe(
    stored,
    E.chain((result) =>
      E.map((ends: ImportEnd) => ({ ...ends, result }))(endOf(result, target.hasGrown() ? own_facts_at_ms : null)),
    ),
  );
  if (isLeft(end)) return end;
  const { own, state, chain, result } = end.right;
  const failed =
    (await putPages(blobs, own.sealed)) ??
    (await target.finish(own.commits.map(storedCommit), state)) ??
    faultOf(result);
  if (failed !== null) return left(failed);
  if (state === null || chain === null)
    return left(reject('damaged', '', 'the stream is empty; send the export of a session, from its genesis record on'));
  if (!target.hasGrown()) return left(otherSession(state.session_id));
  const snapshot = state.version < SNAPSHOT_EVERY_EVENTS ? null : makeSnapshot(state, chain);
  // A snapshot only makes loading faster: when writing it fails, the import still succeeds.
  if (snapshot !== null) await journal.snapshots.put(snapshot)();
  const own_facts = own.commits.reduce((sum, { events }) => sum + events.length, 0);
  return right({ session_id: state.session_id, version: state.version, ...headFacts(state), own_facts });
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
    const pages = replayer.sealed().map(({ text }) => text);
    const failed = (await putPages(blobs, pages)) ?? (await target.add(record));
    if (failed !== null) return left(failed);
  }
  const open = result.state === null ? null : await again.finish(result.state);
  if (open === null) return right(result);
  const { position, message } = measuredOtherwise(open);
  return left(reject(open.fault.code, '', `position ${position}: ${message}; the import is not finished`));
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
interface ImportEnd extends Pick<Replay, 'state' | 'chain'> {
  readonly own: Pick<OwnCommits, 'commits' | 'sealed'>;
}

function endOf({ state, chain }: Replay, at_ms: number | null): Either<Rejection, ImportEnd> {
  const asItIs = { own: { commits: [], sealed: [] }, state, chain };
  if (state === null || chain === null || at_ms === null) return right(asItIs);
  const ended = endImport(state, chain, at_ms);
  if (isLeft(ended)) return left(reject('damaged', '', `the session cannot be made to wait: ${ended.left.message}`));
  const { commits, sealed } = ended.right;
  return right({ own: { commits, sealed }, state: ended.right.state, chain: commits.at(-1)?.chain ?? chain });
}

/** Stores pages before the commit that sealed them, because state refers to them from then on. */
async function putPages(blobs: Blobs, pages: readonly string[]): Promise<Rejection | null> {
  for (const text of pages) {
    const kept = await blobs.put(new TextEncoder().encode(text))();
    if (isLeft(kept)) return kept.left;
  }
  return null;
}

function faultOf({ divergence }: Replay): Rejection | null {
  if (divergence === null) return null;
  const { position, message, code } = divergence;
  const stored = position < 0 ? 'nothing is stored' : 'the records before it are stored';
  return reject(
    code === 'rules_unknown' || code === 'measured_wrong' ? code : 'damaged',
    '',
    `position ${position}: ${message}; ${stored}`,
  );
}

/** Stores the commits that the journal does not contain yet, many in one write. */
interface Target {
  /** Adds a verified record; the rejection when it cannot be stored. */
  add(record: StreamRecord): Promise<Rejection | null>;
  /** Stores the rest, and these commits after it, in one write. */
  finish(own: readonly JournalCommit[], state: SessionState | null): Promise<Rejection | null>;
  /** Whether there is anything that was not stored before. */
  hasGrown(): boolean;
}

function newTarget(journal: Journal): Target {
  let begun: Begun | null = null;
  let pending: JournalCommit[] = [];
  let events = 0;
  let hasGrown = false;
  let tools: PackageRecord | null = null;

  async function flush(head: HeadFacts): Promise<Rejection | null> {
    if (begun === null || pending.length === 0) return null;
    const appended = await journal.append(begun.id, pending, head)();
    if (isLeft(appended)) return appended.left;
    [pending, events] = [[], 0];
    return null;
  }

  async function addGenesis(record: GenesisRecord): Promise<Rejection | null> {
    invariant(tools !== null, 'a genesis record that verifies comes after its tool package');
    const begins = await begin(journal, record, tools.tool_package);
    if (isLeft(begins)) return begins.left;
    begun = begins.right;
    hasGrown = begun.isNew;
    return null;
  }

  return {
    async finish(own, state) {
      pending.push(...own);
      return state === null ? null : await flush(headFacts(state));
    },
    hasGrown: () => hasGrown,
    async add(record) {
      if (record.kind === 'package') {
        tools = record;
        return null;
      }
      if (record.kind === 'genesis') return await addGenesis(record);
      const end = versionAfter(record);
      if (begun !== null && record.position < begun.version) {
        // The chain value of the last stored commit covers all commits before it.
        return end >= begun.version && record.chain !== begun.chain ? otherSession(begun.id) : null;
      }
      // The last commits are stored together with the facts of the import's own; what is stored before is owed to nobody.
      const failed = events >= EVENTS_PER_COMMIT_MAX ? await flush(CUT_OFF) : null;
      pending.push(storedCommit(record));
      events += record.events.length;
      hasGrown = true;
      return failed;
    },
  };
}

/** The session an import continues: its version, and the chain value after its last commit. */
interface Begun {
  readonly id: SessionId;
  readonly isNew: boolean;
  readonly version: Version;
  readonly chain: Digest;
}

/** Creates the session, or finds what an earlier import of the same genesis has stored. */
async function begin(journal: Journal, { genesis, chain }: GenesisRecord, tool_package: ToolPackage): Answer<Begun> {
  const id = genesis.session_id;
  const created = await createStream(journal, { genesis, tool_package })();
  if (!isLeft(created)) return right({ id, isNew: true, version: 0 as Version, chain });
  if (created.left.code !== 'session_exists') return created;
  return await pipe(
    journal.genesis(id),
    TE.filterOrElse(
      (stored) => stored === canonicalText(genesis),
      () => created.left,
    ),
    TE.chain(() => journal.head(id)),
    TE.bind('last', ({ version }) => (version === 0 ? TE.right([]) : journal.read(id, (version - 1) as Position, 1))),
    TE.map(({ version, last }) => ({ id, isNew: false, version, chain: last[0]?.chain ?? chain })),
  )();
}

const otherSession = (id: SessionId): Rejection =>
  reject(
    'session_exists',
    '',
    `session ${id} exists already, and this stream does not continue it; import it into another data directory`,
  );

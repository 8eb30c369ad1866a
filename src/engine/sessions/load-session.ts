// Loads a session: starts at the newest snapshot that agrees with the stream and folds the events after it. It verifies
// every event digest and chain value, and the state digest at the end of each page of records (`refold verify` checks
// every state digest). No store is trusted for integrity (docs/design.md, "Durability and crashes"): a snapshot that does
// not agree is not used, and a record that does not verify is `damaged`, with the session and the position.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Either, isLeft, left, mapLeft, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { genesisChain, nextChain } from '../../core/chain.ts';
import { readGenesisText } from '../../core/genesis-text.ts';
import { initialState } from '../../core/initial-state.ts';
import { readSnapshot } from '../../core/snapshot.ts';
import { stateDigest } from '../../core/state-digest.ts';
import { foldEvent } from '../../core/step.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX, READ_PAGE_RECORDS } from '../../../schemas/limits.ts';
import { InvariantError, type Rejection, reject } from '../../../schemas/rejection.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { hasDerivedChain } from '../../journal/derived-chain.ts';
import type { Journal, JournalRecord } from '../../journal/journal.ts';

export interface LoadedSession {
  readonly genesis: Genesis;
  readonly state: SessionState;
  readonly chain: Digest;
  readonly from: LoadedFrom;
}

/** Where a load began to fold. */
export interface LoadedFrom {
  /** The version of the snapshot it started from; 0 without one. */
  readonly version: Version;
  /** Characters of the events that were folded after it. */
  readonly chars: number;
  /** Newer snapshots that were wrong and not used. */
  readonly wrong: readonly Version[];
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** The newest good snapshot and the fold of the records after it; without one, the fold of the whole stream. */
export const loadSession = (journal: Journal, id: SessionId): Answer<LoadedSession> =>
  pipe(
    () => loadGenesis(journal, id),
    TE.chain((genesis) => () => findStart(journal, genesis)),
    TE.chain((start) => () => foldStream(journal, start)),
  )();

async function foldStream(journal: Journal, start: LoadedSession): Answer<LoadedSession> {
  const id = start.genesis.session_id;
  let folded = start;
  let chars = 0;
  let position = folded.state.version as number as Position;
  let reading = readAhead(journal, id, position);
  for (;;) {
    const page = await reading;
    if (isLeft(page)) return page;
    const isLast = page.right.length < READ_PAGE_RECORDS;
    // The store reads the next page while this one is folded.
    position = (position + page.right.length) as Position;
    if (!isLast) reading = readAhead(journal, id, position);
    const next = await foldRecords(folded, page.right);
    if (isLeft(next)) return next;
    folded = next.right;
    for (const { event } of page.right) chars += event.length;
    if (isLast) return right({ ...folded, from: { ...folded.from, chars } });
  }
}

/** Starts to read a page. A failed read causes no unhandled rejection, even when the load has ended before. */
function readAhead(journal: Journal, id: SessionId, from: Position): Answer<readonly JournalRecord[]> {
  const reading = journal.read(id, from, READ_PAGE_RECORDS)();
  reading.catch(() => undefined);
  return reading;
}

/** Where to start: at the newest snapshot that agrees with the stream, or before the first event. */
async function findStart(journal: Journal, genesis: Genesis): Answer<LoadedSession> {
  const { session_id } = genesis;
  const kept = await journal.snapshots.versions(session_id)();
  // When snapshots cannot be read, the load only takes longer.
  const versions = isLeft(kept) ? [] : kept.right;
  const wrong: Version[] = [];
  for (const version of versions) {
    const snapshot = await journal.snapshots.get(session_id, version)();
    if (isLeft(snapshot)) continue;
    const state = snapshot.right === null ? null : readSnapshot(snapshot.right);
    if (snapshot.right !== null && state?.genesis_digest === genesisChain(genesis)) {
      const agrees = await agreesWithStream(journal, snapshot.right, genesis);
      if (isLeft(agrees)) return agrees;
      const { chain } = snapshot.right;
      if (agrees.right) return right({ genesis, state, chain, from: { version, chars: 0, wrong } });
    }
    wrong.push(version);
  }
  const from = { version: 0 as Version, chars: 0, wrong };
  const state = initialState(genesis);
  return right({ genesis, state, chain: state.genesis_digest, from });
}

/** Whether the last record that a snapshot covers has the snapshot's digests and continues the chain. */
async function agreesWithStream(journal: Journal, snapshot: Snapshot, genesis: Genesis): Answer<boolean> {
  const { session_id, version, state_digest, chain } = snapshot;
  const first = Math.max(0, version - 2);
  const read = await journal.read(session_id, first as Position, version - first)();
  // The fold without this snapshot finds the damaged record, and reports its position.
  if (isLeft(read)) return read.left.code === 'damaged' ? right(false) : read;
  const last = read.right.at(-1);
  if (last === undefined || read.right.length < version - first) return right(false);
  const before = version === 1 ? genesisChain(genesis) : (read.right[0]?.chain ?? chain);
  const linked = nextChain(before, digestText(last.event), last.state_digest) === chain;
  return right(linked && last.chain === chain && last.state_digest === state_digest);
}

/** The genesis record of a stream, checked. */
export const loadGenesis = (journal: Journal, id: SessionId): Answer<Genesis> =>
  pipe(
    journal.genesis(id),
    TE.chainEitherK((text) => mapLeft(({ message }: Rejection) => damaged(id, -1, message))(readGenesisText(text))),
    TE.filterOrElse(
      ({ session_id }) => session_id === id,
      () => damaged(id, -1, 'the genesis record belongs to another session'),
    ),
  )();

/** Folding yields to the event loop after this many records, so that the store reads ahead and other requests proceed. */
const FOLDED_AT_ONCE = 250;

// Each chain value covers the recorded state digest, and chain values that are not stored follow from the stored ones. The
// last state digest is compared with the whole state. When anything differs, the records are checked one by one to find the
// first fault.
async function foldRecords(from: LoadedSession, records: readonly JournalRecord[]): Answer<LoadedSession> {
  let { state, chain } = from;
  for (const [index, record] of records.entries()) {
    if (index > 0 && index % FOLDED_AT_ONCE === 0) await nextTurn();
    const folded = foldRecord(state, record);
    if (isLeft(folded)) return left(faultIn(from, records));
    chain = nextChain(chain, digestText(record.event), record.state_digest);
    if (!hasDerivedChain(record) && chain !== record.chain) return left(faultIn(from, records));
    state = folded.right;
  }
  const last = records.at(-1);
  const agrees = last === undefined || stateDigest(state) === last.state_digest;
  return agrees ? right({ ...from, state, chain }) : left(faultIn(from, records));
}

/** The first of these records that does not verify; the records are known not to verify together. */
function faultIn({ genesis, state: start, chain: head }: LoadedSession, records: readonly JournalRecord[]): Rejection {
  let [state, chain] = [start, head];
  for (const record of records) {
    const at = (why: string): Rejection => damaged(genesis.session_id, state.version, why);
    const folded = foldRecord(state, record);
    if (isLeft(folded)) return at(folded.left);
    chain = nextChain(chain, digestText(record.event), record.state_digest);
    if (chain !== record.chain) return at('the chain differs');
    if (stateDigest(folded.right) !== record.state_digest) return at('the state digest differs');
    state = folded.right;
  }
  throw new InvariantError('records that do not verify together verify one by one');
}

/** The state after a record, or why the record cannot be folded. */
function foldRecord(state: SessionState, { event }: JournalRecord): Either<string, SessionState> {
  const parsed = parseJson(event, BLOB_BYTES_MAX);
  if (isLeft(parsed)) return left(parsed.left.message);
  const folded = foldSafely(state, parsed.right as unknown as RecordedEvent);
  return isLeft(folded) ? left(`${folded.left.code}: ${folded.left.message}`) : right(folded.right.state);
}

// A record that was tampered with may never have been admitted, so a fold that throws on it means damaged data.
function foldSafely(state: SessionState, event: RecordedEvent): ReturnType<typeof foldEvent> {
  try {
    return foldEvent(state, event);
  } catch {
    return left(reject('damaged', '', 'the event cannot be folded'));
  }
}

const damaged = (id: SessionId, position: number, why: string): Rejection =>
  reject('damaged', '', `session ${id}, position ${position}: ${why}`);

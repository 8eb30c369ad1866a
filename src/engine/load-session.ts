// Loads a session: from the newest snapshot that agrees with the stream, folds what follows and verifies every digest and
// chain value on the way. No store is trusted for integrity (DESIGN section 6): a snapshot that does not agree is not
// used, and a record that does not verify is `damaged`, with the session and the position.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { genesisChain, nextChain } from '../core/chain.ts';
import { checkGenesis, initialState } from '../core/initial-state.ts';
import { readSnapshot } from '../core/snapshot.ts';
import { step } from '../core/step.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest, Position, SessionId, Version } from '../../schemas/ids.ts';
import { freezeJson, parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';

export interface LoadedSession {
  readonly genesis: Genesis;
  readonly state: SessionState;
  readonly chain: Digest;
  readonly from: LoadedFrom;
}

/** Where the fold of a load began. */
export interface LoadedFrom {
  /** The version of the snapshot it began at; 0 without one. */
  readonly version: Version;
  /** Characters of the events that were folded on from there. */
  readonly chars: number;
  /** Newer snapshots that were wrong, and not used. */
  readonly wrong: readonly Version[];
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** The newest good snapshot and the fold of the records after it; without one, the fold of the whole stream. */
export async function loadSession(journal: Journal, id: SessionId): Answer<LoadedSession> {
  const genesis = await readGenesis(journal, id);
  if (isLeft(genesis)) return genesis;
  const start = await findStart(journal, genesis.right);
  if (isLeft(start)) return start;
  let folded = start.right;
  let chars = 0;
  for (;;) {
    const page = await journal.read(id, folded.state.version as number as Position, READ_PAGE_RECORDS)();
    if (isLeft(page)) return page;
    for (const record of page.right) {
      const next = foldRecord(folded, record);
      if (isLeft(next)) return left(damaged(id, folded.state.version, next.left));
      folded = next.right;
      chars += record.event.length;
    }
    if (page.right.length < READ_PAGE_RECORDS) return right({ ...folded, from: { ...folded.from, chars } });
  }
}

/** Where to begin: at the newest snapshot that agrees with the stream, or before the first event. */
async function findStart(journal: Journal, genesis: Genesis): Answer<LoadedSession> {
  const { session_id } = genesis;
  const kept = await journal.snapshots.versions(session_id)();
  // Whatever fails about snapshots costs time and nothing else.
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

/** Whether the last record a snapshot covers has its digests, and is itself a link of the chain. */
async function agreesWithStream(journal: Journal, snapshot: Snapshot, genesis: Genesis): Answer<boolean> {
  const { session_id, version, state_digest, chain } = snapshot;
  const first = Math.max(0, version - 2);
  const read = await journal.read(session_id, first as Position, version - first)();
  // A damaged record is found, and told with its position, by the fold that goes without this snapshot.
  if (isLeft(read)) return read.left.code === 'damaged' ? right(false) : read;
  const last = read.right.at(-1);
  if (last === undefined || read.right.length < version - first) return right(false);
  const before = version === 1 ? genesisChain(genesis) : (read.right[0]?.chain ?? chain);
  const linked = nextChain(before, digestText(last.event), last.state_digest) === chain;
  return right(linked && last.chain === chain && last.state_digest === state_digest);
}

/** The genesis record of a stream, checked. */
export async function readGenesis(journal: Journal, id: SessionId): Answer<Genesis> {
  const text = await journal.genesis(id)();
  if (isLeft(text)) return text;
  const parsed = parseJson(text.right, BLOB_BYTES_MAX);
  const checked = isLeft(parsed) ? parsed : checkGenesis(freezeJson(parsed.right));
  if (isLeft(checked)) return left(damaged(id, -1, checked.left.message));
  return checked.right.session_id === id ? checked : left(damaged(id, -1, 'the genesis record is of another session'));
}

function foldRecord(at: LoadedSession, record: JournalRecord): Either<string, LoadedSession> {
  const parsed = parseJson(record.event, BLOB_BYTES_MAX);
  if (isLeft(parsed)) return left(parsed.left.message);
  const stepped = stepSafely(at.state, parsed.right as unknown as RecordedEvent);
  if (isLeft(stepped)) return left(`${stepped.left.code}: ${stepped.left.message}`);
  if (stepped.right.stateDigest !== record.state_digest) return left('the state digest differs');
  const chain = nextChain(at.chain, digestText(record.event), record.state_digest);
  return chain === record.chain ? right({ ...at, state: stepped.right.state, chain }) : left('the chain differs');
}

// A record that was tampered with may be one that no admission ever saw; whatever the fold makes of it, it is data.
function stepSafely(state: SessionState, event: RecordedEvent): ReturnType<typeof step> {
  try {
    return step(state, event);
  } catch {
    return left(reject('damaged', '', 'the event cannot be folded'));
  }
}

const damaged = (id: SessionId, position: number, why: string): Rejection =>
  reject('damaged', '', `session ${id}, position ${position}: ${why}`);

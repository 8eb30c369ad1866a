// Loads a session: folds its stream and verifies every digest and chain value on the way. No store is trusted for
// integrity (DESIGN section 6): what does not verify is `damaged`, with the session and the position.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { genesisChain, nextChain } from '../core/chain.ts';
import { checkGenesis, initialState } from '../core/initial-state.ts';
import { step } from '../core/step.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest, Position, SessionId } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';

export interface LoadedSession {
  readonly genesis: Genesis;
  readonly state: SessionState;
  readonly chain: Digest;
}

type Answer<T> = Promise<Either<Rejection, T>>;

export async function loadSession(journal: Journal, id: SessionId): Answer<LoadedSession> {
  const genesis = await readGenesis(journal, id);
  if (isLeft(genesis)) return genesis;
  let folded: LoadedSession = {
    genesis: genesis.right,
    state: initialState(genesis.right),
    chain: genesisChain(genesis.right),
  };
  for (;;) {
    const page = await journal.read(id, folded.state.version as number as Position, READ_PAGE_RECORDS)();
    if (isLeft(page)) return page;
    for (const record of page.right) {
      const next = foldRecord(folded, record);
      if (isLeft(next)) return left(damaged(id, folded.state.version, next.left));
      folded = next.right;
    }
    if (page.right.length < READ_PAGE_RECORDS) return right(folded);
  }
}

/** The genesis record of a stream, checked. */
export async function readGenesis(journal: Journal, id: SessionId): Answer<Genesis> {
  const text = await journal.genesis(id)();
  if (isLeft(text)) return text;
  const parsed = parseJson(text.right, BLOB_BYTES_MAX);
  const checked = isLeft(parsed) ? parsed : checkGenesis(parsed.right);
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

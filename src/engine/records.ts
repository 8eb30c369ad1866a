// Reads a stream as records, as it is exported and followed.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { digestText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import type { Position, SessionId } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import type { EventRecord, GenesisRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { RecordedEvent } from '../../schemas/upcast.ts';
import { genesisChain } from '../core/chain.ts';
import { initialState } from '../core/initial-state.ts';
import { stateDigest } from '../core/state-digest.ts';
import type { Journal } from '../journal/journal.ts';
import { readGenesis } from './load-session.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export async function genesisRecord(journal: Journal, id: SessionId): Answer<GenesisRecord> {
  const genesis = await readGenesis(journal, id);
  if (isLeft(genesis)) return genesis;
  const state_digest = stateDigest(initialState(genesis.right));
  return right({
    kind: 'genesis',
    format: 1,
    genesis: genesis.right,
    state_digest,
    chain: genesisChain(genesis.right),
  });
}

/** Event records from a position on, at most `limit`: as they were written, because their digests are of that. */
export async function eventRecords(
  journal: Journal,
  id: SessionId,
  from: Position,
  limit: number,
): Answer<readonly EventRecord[]> {
  const page = await journal.read(id, from, limit)();
  if (isLeft(page)) return page;
  const records: EventRecord[] = [];
  for (const [index, stored] of page.right.entries()) {
    const position = (from + index) as Position;
    const parsed = parseJson(stored.event, BLOB_BYTES_MAX);
    const event = isLeft(parsed) ? parsed : decode(RecordedEvent, parsed.right);
    if (isLeft(event)) {
      return left(reject('damaged', '', `session ${id}, position ${position}: ${event.left.message}`));
    }
    const { state_digest, chain } = stored;
    const event_digest = digestText(stored.event);
    records.push({ kind: 'event', position, event: event.right, event_digest, state_digest, chain });
  }
  return right(records);
}

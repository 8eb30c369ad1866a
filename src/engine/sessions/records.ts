// Reads a stream as records, as it is exported and followed.
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { digestText } from '../../../schemas/canonical.ts';
import { decode } from '../../../schemas/codec.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import type { EventRecord, GenesisRecord } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { RecordedEvent } from '../../../schemas/upcast.ts';
import { genesisChain } from '../../core/chain.ts';
import { initialState } from '../../core/initial-state.ts';
import { stateDigest } from '../../core/state-digest.ts';
import type { Journal, JournalRecord } from '../../journal/journal.ts';
import { loadGenesis } from './load-session.ts';

type Answer<T> = Promise<E.Either<Rejection, T>>;

export async function genesisRecord(journal: Journal, id: SessionId): Answer<GenesisRecord> {
  const genesis = await loadGenesis(journal, id);
  if (E.isLeft(genesis)) return genesis;
  const state_digest = stateDigest(initialState(genesis.right));
  return E.right({
    kind: 'genesis',
    format: 1,
    genesis: genesis.right,
    state_digest,
    chain: genesisChain(genesis.right),
  });
}

/** At most `limit` event records from a position on. Events are not upcast, because digests cover the stored text. */
export const eventRecords = (
  journal: Journal,
  id: SessionId,
  from: Position,
  limit: number,
): Answer<readonly EventRecord[]> =>
  pipe(
    journal.read(id, from, limit),
    TE.chainEitherK((page) => toEventRecords(id, from, page)),
  )();

function toEventRecords(
  id: SessionId,
  from: Position,
  page: readonly JournalRecord[],
): E.Either<Rejection, readonly EventRecord[]> {
  const records: EventRecord[] = [];
  for (const [index, stored] of page.entries()) {
    const position = (from + index) as Position;
    const event = pipe(
      parseJson(stored.event, BLOB_BYTES_MAX),
      E.chain((json) => decode(RecordedEvent, json)),
    );
    if (E.isLeft(event)) {
      return E.left(reject('damaged', '', `session ${id}, position ${position}: ${event.left.message}`));
    }
    const { state_digest, chain } = stored;
    const event_digest = digestText(stored.event);
    records.push({ kind: 'event', position, event: event.right, event_digest, state_digest, chain });
  }
  return E.right(records);
}

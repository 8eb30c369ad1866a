// Imports an exported stream into a journal: each record is folded and verified, and stored only when it verifies. An
// interrupted import resumes where it stopped. The transcript pages that the fold seals become blobs again, as where
// the stream was recorded.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { SealedPage } from '../../../reducers/transcript.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, SNAPSHOT_EVERY_EVENTS } from '../../../schemas/limits.ts';
import type { GenesisRecord, StreamRecord } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionSummary } from '../../../schemas/wire.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { genesisText } from '../../core/genesis-text.ts';
import { owesBridge } from '../../core/effects.ts';
import { type Replay, type Replayer, newReplayer } from '../../core/replay.ts';
import { makeSnapshot } from '../../core/snapshot.ts';
import type { Journal, JournalRecord } from '../../journal/journal.ts';
import { owesAnything } from '../leases/owed-effects.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** The stores that a stream is imported into. */
export interface ImportPorts {
  readonly journal: Journal;
  readonly blobs: Blobs;
}

/**
 * Stores a stream as a new session, or the rest of it when the journal contains its beginning: `session_exists` when the
 * journal contains anything else, or all of it. A record that does not verify ends the import: `damaged`, with its
 * position.
 */
export async function importStream(
  { journal, blobs }: ImportPorts,
  records: AsyncIterable<StreamRecord>,
): Answer<SessionSummary> {
  const replayer = newReplayer();
  const target = newTarget(journal);
  for await (const record of records) {
    if (!replayer.add(record)) break;
    const page = replayer.sealed();
    const failed = (page === null ? null : await putPage(blobs, page)) ?? (await target.add(record, replayer));
    if (failed !== null) return left(failed);
  }
  const failed = (await target.flush(replayer)) ?? faultOf(replayer.result());
  if (failed !== null) return left(failed);
  const { state, chain } = replayer.result();
  if (state === null || chain === null) return left(reject('damaged', '', 'the stream is empty'));
  if (!target.hasGrown()) return left(otherSession(state.session_id));
  const snapshot = state.version < SNAPSHOT_EVERY_EVENTS ? null : makeSnapshot(state, chain);
  // A snapshot only makes loading faster: when writing it fails, the import still succeeds.
  if (snapshot !== null) await journal.snapshots.put(snapshot)();
  return right({ session_id: state.session_id, version: state.version, owing: owesBridge(state) });
}

/** Stores a page before the event that sealed it, because state refers to the page from then on. */
async function putPage(blobs: Blobs, { text }: SealedPage): Promise<Rejection | null> {
  const kept = await blobs.put(new TextEncoder().encode(text))();
  return isLeft(kept) ? kept.left : null;
}

function faultOf({ divergence }: Replay): Rejection | null {
  if (divergence === null) return null;
  const { position, message } = divergence;
  const stored = position < 0 ? 'nothing is stored' : 'the records before it are stored';
  return reject('damaged', '', `position ${position}: ${message}; ${stored}`);
}

/** Stores the records that the journal does not contain yet, many in one write. */
interface Target {
  /** Adds a verified record; the rejection when it cannot be stored. */
  add(record: StreamRecord, replayer: Replayer): Promise<Rejection | null>;
  flush(replayer: Replayer): Promise<Rejection | null>;
  /** Whether anything new was stored. */
  hasGrown(): boolean;
}

function newTarget(journal: Journal): Target {
  let begun: Begun | null = null;
  let stored = 0;
  let pending: JournalRecord[] = [];

  async function flush(replayer: Replayer): Promise<Rejection | null> {
    const { state } = replayer.result();
    if (begun === null || state === null || pending.length === 0) return null;
    const appended = await journal.append(begun.id, stored as Version, pending, owesAnything(state))();
    if (isLeft(appended)) return appended.left;
    stored += pending.length;
    pending = [];
    return null;
  }

  async function addGenesis(record: GenesisRecord): Promise<Rejection | null> {
    const begins = await begin(journal, record);
    if (isLeft(begins)) return begins.left;
    begun = begins.right;
    stored = begun.version;
    return null;
  }

  return {
    flush,
    hasGrown: () => begun !== null && (begun.isNew || stored > begun.version),
    async add(record, replayer) {
      if (record.kind === 'genesis') return await addGenesis(record);
      const { position, event, state_digest, chain } = record;
      if (begun !== null && position < begun.version) {
        // The chain value of the last stored record covers all records before it.
        return position === begun.version - 1 && chain !== begun.chain ? otherSession(begun.id) : null;
      }
      pending.push({ event: canonicalText(event), event_id: event.event_id, state_digest, chain });
      return pending.length >= EVENTS_PER_APPEND_MAX ? await flush(replayer) : null;
    },
  };
}

/** The session an import continues: its version, and the chain value after its last record. */
interface Begun {
  readonly id: SessionId;
  readonly isNew: boolean;
  readonly version: Version;
  readonly chain: Digest;
}

/** Creates the session, or finds what an earlier import of the same genesis has stored. */
async function begin(journal: Journal, { genesis, chain }: GenesisRecord): Answer<Begun> {
  const id = genesis.session_id;
  const text = genesisText(genesis);
  const created = await journal.create(id, text)();
  if (!isLeft(created)) return right({ id, isNew: true, version: 0 as Version, chain });
  if (created.left.code !== 'session_exists') return created;
  return await pipe(
    journal.genesis(id),
    TE.filterOrElse(
      (stored) => stored === text,
      () => created.left,
    ),
    TE.chain(() => journal.head(id)),
    TE.bind('last', ({ version }) => (version === 0 ? TE.right([]) : journal.read(id, (version - 1) as Position, 1))),
    TE.map(({ version, last }) => ({ id, isNew: false, version, chain: last[0]?.chain ?? chain })),
  )();
}

const otherSession = (id: SessionId): Rejection =>
  reject('session_exists', '', `session ${id} exists already, and this stream does not continue it`);

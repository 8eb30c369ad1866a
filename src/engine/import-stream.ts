// Takes an exported stream into a journal: folded and verified record by record, and stored only as far as it holds. An
// import that was interrupted is taken up where it stopped. The pages of the transcript that the fold seals become blobs
// again, as they did where the stream was recorded.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { SealedPage } from '../../reducers/transcript.ts';
import { canonicalText } from '../../schemas/canonical.ts';
import type { Digest, Position, SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, SNAPSHOT_EVERY_EVENTS } from '../../schemas/limits.ts';
import type { GenesisRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionSummary } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { genesisText } from '../core/genesis-text.ts';
import { owesBridge } from '../core/effects.ts';
import { type Replay, type Replayer, newReplayer } from '../core/replay.ts';
import { makeSnapshot } from '../core/snapshot.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';
import { owesAnything } from './owed.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** Where a stream goes. */
export interface ImportPorts {
  readonly journal: Journal;
  readonly blobs: Blobs;
}

/**
 * Stores a stream as a new session, or the rest of it when the journal holds its beginning already: `session_exists`
 * when it holds anything else, or all of it. A record that does not verify ends the import: `damaged`, with its position.
 */
export async function importStream(
  { journal, blobs }: ImportPorts,
  records: AsyncIterable<StreamRecord>,
): Answer<SessionSummary> {
  const replayer = newReplayer();
  const into = newTarget(journal);
  for await (const record of records) {
    if (!replayer.add(record)) break;
    const page = replayer.sealed();
    const failed = (page === null ? null : await keep(blobs, page)) ?? (await into.take(record, replayer));
    if (failed !== null) return left(failed);
  }
  const failed = (await into.flush(replayer)) ?? faultOf(replayer.result());
  if (failed !== null) return left(failed);
  const { state, chain } = replayer.result();
  if (state === null || chain === null) return left(reject('damaged', '', 'the stream is empty'));
  if (!into.hasGrown()) return left(heldOtherwise(state.session_id));
  const snapshot = state.version < SNAPSHOT_EVERY_EVENTS ? null : makeSnapshot(state, chain);
  // A hint: the stream is whole without it.
  if (snapshot !== null) await journal.snapshots.put(snapshot)();
  return right({ session_id: state.session_id, version: state.version, owing: owesBridge(state) });
}

/** Before the event that sealed it is stored, because state refers to it from then on. */
async function keep(blobs: Blobs, { text }: SealedPage): Promise<Rejection | null> {
  const kept = await blobs.put(new TextEncoder().encode(text))();
  return isLeft(kept) ? kept.left : null;
}

function faultOf({ divergence }: Replay): Rejection | null {
  if (divergence === null) return null;
  const { position, message } = divergence;
  const stored = position < 0 ? 'nothing is stored' : 'what came before is stored';
  return reject('damaged', '', `position ${position}: ${message}; ${stored}`);
}

/** Where the records go: only those that the journal does not hold yet, in writes of many. */
interface Target {
  /** Takes a record that was verified; the rejection when it cannot be stored. */
  take(record: StreamRecord, replayer: Replayer): Promise<Rejection | null>;
  flush(replayer: Replayer): Promise<Rejection | null>;
  /** Whether anything was stored that was not there before. */
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

  async function takeGenesis(record: GenesisRecord): Promise<Rejection | null> {
    const begins = await begin(journal, record);
    if (isLeft(begins)) return begins.left;
    begun = begins.right;
    stored = begun.version;
    return null;
  }

  return {
    flush,
    hasGrown: () => begun !== null && (begun.isNew || stored > begun.version),
    async take(record, replayer) {
      if (record.kind === 'genesis') return await takeGenesis(record);
      const { position, event, state_digest, chain } = record;
      if (begun !== null && position < begun.version) {
        // The chain value of the last record that is there stands for all before it.
        return position === begun.version - 1 && chain !== begun.chain ? heldOtherwise(begun.id) : null;
      }
      pending.push({ event: canonicalText(event), event_id: event.event_id, state_digest, chain });
      return pending.length >= EVENTS_PER_APPEND_MAX ? await flush(replayer) : null;
    },
  };
}

/** The session an import goes into: how far it is, and the chain value it has there. */
interface Begun {
  readonly id: SessionId;
  readonly isNew: boolean;
  readonly version: Version;
  readonly chain: Digest;
}

/** Creates the session, or finds what an earlier import of the same genesis has left. */
async function begin(journal: Journal, { genesis, chain }: GenesisRecord): Answer<Begun> {
  const id = genesis.session_id;
  const text = genesisText(genesis);
  const created = await journal.create(id, text)();
  if (!isLeft(created)) return right({ id, isNew: true, version: 0 as Version, chain });
  if (created.left.code !== 'session_exists') return created;
  const there = await journal.genesis(id)();
  if (isLeft(there)) return there;
  if (there.right !== text) return created;
  const head = await journal.head(id)();
  if (isLeft(head)) return head;
  const { version } = head.right;
  if (version === 0) return right({ id, isNew: false, version, chain });
  const last = await journal.read(id, (version - 1) as Position, 1)();
  if (isLeft(last)) return last;
  return right({ id, isNew: false, version, chain: last.right[0]?.chain ?? chain });
}

const heldOtherwise = (id: SessionId): Rejection =>
  reject('session_exists', '', `there is a session ${id} already, and this stream does not go on from where it is`);

// Takes an exported stream into a journal: folded and verified record by record, and stored only as far as it holds.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, SNAPSHOT_EVERY_EVENTS } from '../../schemas/limits.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionSummary } from '../../schemas/wire.ts';
import { owesBridge } from '../core/effects.ts';
import { newReplayer } from '../core/replay.ts';
import { makeSnapshot } from '../core/snapshot.ts';
import type { Journal, JournalRecord } from '../journal/journal.ts';
import { owesAnything } from './owed.ts';

/** Stores a stream as a new session. A record that does not verify ends the import: `damaged`, with its position. */
export async function importStream(
  journal: Journal,
  records: AsyncIterable<StreamRecord>,
): Promise<Either<Rejection, SessionSummary>> {
  const replayer = newReplayer();
  let id: SessionId | null = null;
  let stored = 0;
  let pending: JournalRecord[] = [];

  async function flush(): Promise<Rejection | null> {
    const { state } = replayer.result();
    if (id === null || state === null || pending.length === 0) return null;
    const appended = await journal.append(id, stored as Version, pending, owesAnything(state))();
    if (isLeft(appended)) return appended.left;
    stored += pending.length;
    pending = [];
    return null;
  }

  for await (const record of records) {
    if (!replayer.add(record)) break;
    if (record.kind === 'genesis') {
      id = record.genesis.session_id;
      const created = await journal.create(id, canonicalText(record.genesis))();
      if (isLeft(created)) return created;
      continue;
    }
    const { event, state_digest, chain } = record;
    pending.push({ event: canonicalText(event), event_id: event.event_id, state_digest, chain });
    const failed = pending.length >= EVENTS_PER_APPEND_MAX ? await flush() : null;
    if (failed !== null) return left(failed);
  }
  const { divergence, state, chain } = replayer.result();
  const failed = await flush();
  if (failed !== null) return left(failed);
  if (divergence !== null) {
    return left(
      reject('damaged', '', `position ${divergence.position}: ${divergence.message}; what came before is stored`),
    );
  }
  if (state === null) return left(reject('damaged', '', 'the stream is empty'));
  const snapshot = chain === null || state.version < SNAPSHOT_EVERY_EVENTS ? null : makeSnapshot(state, chain);
  // A hint: the stream is whole without it.
  if (snapshot !== null) await journal.snapshots.put(snapshot)();
  return right({ session_id: state.session_id, version: state.version, owing: owesBridge(state) });
}

// Removes what a deleted session leaves behind its tombstone: commits, their entries in the index of event ids, and snapshots.
// A stream may be long, so it is removed in several writes. The session counts as deleted from the first write on; the key
// that marks it to be swept is removed last, so that the next opening completes a sweep that was interrupted.
import { Buffer } from 'node:buffer';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventId, Position, SessionId } from '../../schemas/ids.ts';
import { SWEEP_COMMITS } from '../../schemas/limits.ts';
import type { SweepWrite } from './admission.ts';
import {
  SWEEP_RANGE,
  eventKey,
  genesisKey,
  headKey,
  placeOfCommit,
  sessionOfKey,
  streamRange,
  sweepKey,
} from './keys.ts';
import { Refusal } from './refusal.ts';
import type { Snapshots } from './snapshots.ts';
import type { StoreHandle } from './store-handle.ts';
import { decodeNumber } from './stored-numbers.ts';
import { decodeCommit } from './stored-values.ts';
import type { KeyRange, Put, Removal, StoreView } from './store.ts';

export interface SweepPorts {
  readonly handle: StoreHandle;
  readonly snapshots: Snapshots;
  readonly commit: (write: SweepWrite) => Promise<void>;
}

/** Removes every byte of a deleted session from the store. May be repeated; throws a Refusal when it fails. */
export async function sweepSession({ handle, snapshots, commit }: SweepPorts, session: SessionId): Promise<void> {
  const remove = (removals: readonly Removal[]): Promise<void> => commit({ kind: 'sweep', session, removals });
  for (;;) {
    const removals = await handle.use((store) => store.view((view) => nextRemovals(view, session)));
    if (removals.length === 0) break;
    await remove(removals);
  }
  const dropped = await snapshots.dropAll(session)();
  if (isLeft(dropped)) throw new Refusal(dropped.left);
  await handle.use((store) => store.compact([only(genesisKey(session)), streamRange(session), only(headKey(session))]));
  await remove([{ key: sweepKey(session), value: null }]);
}

/** The deleted sessions whose sweep was interrupted. */
export async function unsweptSessions(view: StoreView): Promise<readonly SessionId[]> {
  const entries = await view.scan(SWEEP_RANGE, {});
  return entries.map(({ key }) => sessionOfKey(key)).filter((session) => session !== null);
}

/** The next commits of a session with their index entries; none when no commit is left. */
async function nextRemovals(view: StoreView, session: SessionId): Promise<readonly Removal[]> {
  const commits = await view.scan(streamRange(session), { limit: SWEEP_COMMITS });
  const events = commits.flatMap(eventsOf);
  const keys = events.map(({ event_id }) => eventKey(session, event_id));
  const indexed = keys.length === 0 ? [] : await view.getMany(keys);
  // Two ids may share a hash: an entry with another position belongs to another event.
  const own = keys.filter((_, index) => {
    const bytes = indexed[index];
    return bytes !== undefined && decodeNumber(bytes) === (events[index]?.position as number | undefined);
  });
  return [...commits.map(({ key }) => key), ...own].map((key) => ({ key, value: null }));
}

/** The events of a stored commit; none when it does not decode: its index entries then stay, and lead nowhere. */
function eventsOf({ key, value }: Put): readonly { readonly event_id: EventId; readonly position: Position }[] {
  const place = placeOfCommit(key);
  const commit = place === null ? null : decodeCommit(place.first, value);
  if (commit === null) return [];
  return commit.events.map(({ event_id }, index) => ({ event_id, position: (commit.position + index) as Position }));
}

/** The range of one key. */
const only = (key: Uint8Array): KeyRange => ({ gte: key, lt: Buffer.concat([key, Buffer.of(0)]) });

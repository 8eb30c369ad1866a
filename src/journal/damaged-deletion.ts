// What a session that cannot be loaded leaves to its tombstone, and the entries that its head may no longer name.
import type { SessionId } from '../../schemas/ids.ts';
import { versionAfter } from '../../schemas/record.ts';
import type { DeleteWrite } from './admission.ts';
import { sessionDeleted, unknownSession } from './append-rules.ts';
import {
  genesisKey,
  headKey,
  lostKey,
  owingKey,
  placeOfCommit,
  streamRange,
  tombstoneKey,
  wakeOfKey,
  wakesBetween,
} from './keys.ts';
import { Refusal } from './refusal.ts';
import type { Removal, StoreView } from './store.ts';
import { decodeCommit, decodeHead } from './stored-values.ts';

/** The write that deletes a damaged session; refuses when nothing of the session is stored. */
export async function damagedDeletion(
  view: StoreView,
  session: SessionId,
  deleted_at_ms: number,
): Promise<DeleteWrite> {
  const [stored, genesis, tombstone, [last]] = await Promise.all([
    view.get(headKey(session)),
    view.get(genesisKey(session)),
    view.get(tombstoneKey(session)),
    view.scan(streamRange(session), { limit: 1, reverse: true }),
  ]);
  if (tombstone !== undefined) throw new Refusal(sessionDeleted(session));
  if (stored === undefined && genesis === undefined && last === undefined) throw new Refusal(unknownSession(session));
  const head = stored === undefined ? null : decodeHead(stored);
  const place = last === undefined ? null : placeOfCommit(last.key);
  const commit = last === undefined || place === null ? null : decodeCommit(place.first, last.value);
  const version = head?.version ?? null;
  // The chain value belongs to the version only when the last commit ends there.
  const chain = commit !== null && versionAfter(commit) === version ? commit.chain : null;
  const damaged: readonly Removal[] = [
    { key: lostKey(session), value: null },
    { key: owingKey(session), value: null },
    ...(await wakesOf(view, session)),
  ];
  return {
    kind: 'delete',
    session,
    tombstone: { session_id: session, version, chain, deleted_at_ms },
    damaged,
  };
}

async function wakesOf(view: StoreView, session: SessionId): Promise<readonly Removal[]> {
  const wakes = await view.scan(wakesBetween(null, Number.MAX_SAFE_INTEGER), {});
  return wakes.flatMap(({ key }) => (wakeOfKey(key)?.session_id === session ? [{ key, value: null }] : []));
}

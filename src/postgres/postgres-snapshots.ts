// Snapshots as rows. Putting one does not wait for the disk: a crash of the server may lose it, as a whole.
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { SNAPSHOTS_KEPT } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { Snapshot } from '../../schemas/snapshot.ts';
import type { Snapshots } from '../journal/snapshots.ts';
import { requireStorable } from './commit-rows.ts';
import { digestBytes, storedDigest } from './digest-bytes.ts';
import type { Query } from './driver.ts';

/** Runs work as a task; what the database refuses becomes a rejection. */
export type Tasks = <T>(work: () => Promise<T>) => TaskEither<Rejection, T>;

export const openPostgresSnapshots = (query: Query, task: Tasks): Snapshots => ({
  put: ({ session_id, version, state_digest, chain, state }) =>
    task(async () => {
      requireStorable('a state to store', state);
      const digests = [digestBytes(state_digest), digestBytes(chain)];
      await query(PUT, [session_id, version, ...digests, state, SNAPSHOTS_KEPT]);
    }),
  versions: (session) =>
    task(async () => {
      const rows = await query(VERSIONS, [session]);
      return rows.map(({ version }) => version as Version);
    }),
  get: (session, version) => task(() => readSnapshot(query, session, version)),
  drop: (session, version) =>
    task(
      async () =>
        void (await query('DELETE FROM refold.snapshot WHERE session = $1 AND version = $2', [session, version])),
    ),
  dropAll: (session) =>
    task(async () => void (await query('DELETE FROM refold.snapshot WHERE session = $1', [session]))),
});

const PUT = 'SELECT refold.put_snapshot($1, $2, $3, $4, $5, $6)';
const VERSIONS = 'SELECT version FROM refold.snapshot WHERE session = $1 ORDER BY version DESC';

async function readSnapshot(query: Query, session: SessionId, version: Version): Promise<Snapshot | null> {
  const [row] = await query('SELECT * FROM refold.snapshot WHERE session = $1 AND version = $2', [session, version]);
  if (row === undefined) return null;
  const { session: session_id, state } = row;
  const snapshot = {
    session_id,
    version: row['version'],
    state_digest: storedDigest(row['state_digest']),
    chain: storedDigest(row['chain']),
    state,
  };
  return Snapshot.is(snapshot) ? snapshot : null;
}

// Snapshots in memory, for journals in memory.
import { right } from 'fp-ts/lib/Either.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { SNAPSHOTS_KEPT } from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { type Snapshots, keptVersions } from './snapshots.ts';

export function openMemorySnapshots(): Snapshots {
  const sessions = new Map<SessionId, Map<Version, Snapshot>>();
  return {
    put: (snapshot) => async () => {
      const held = new Map(sessions.get(snapshot.session_id)).set(snapshot.version, snapshot);
      const kept = new Set(keptVersions([...held.keys()], snapshot.version, SNAPSHOTS_KEPT));
      sessions.set(snapshot.session_id, new Map([...held].filter(([version]) => kept.has(version))));
      return right(undefined);
    },
    versions: (session) => async () => right([...(sessions.get(session)?.keys() ?? [])].sort((a, b) => b - a)),
    get: (session, version) => async () => right(sessions.get(session)?.get(version) ?? null),
    drop: (session, version) => async () => {
      sessions.get(session)?.delete(version);
      return right(undefined);
    },
    dropAll: (session) => async () => {
      sessions.delete(session);
      return right(undefined);
    },
  };
}

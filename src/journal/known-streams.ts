// What a journal's only writer knows of its streams without reading: where they stand, and which event ids the ones
// hold that it has made itself. All of it as of the last successful write, bounded, and forgotten when a write fails.
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { EVENT_IDS_CACHED_MAX, HEADS_CACHED_MAX } from '../../schemas/limits.ts';
import type { Write } from './admission.ts';

export interface KnownStreams {
  version(session: SessionId): Version | undefined;
  /** Whether a stream holds an event id; undefined when only the store can tell. */
  holds(session: SessionId, event: EventId): boolean | undefined;
  /** These writes are on disk, and led to these versions. */
  remember(written: readonly Write[], versions: ReadonlyMap<SessionId, Version>): void;
  forget(): void;
}

export function newKnownStreams(): KnownStreams {
  // Maps keep insertion order, and what changes is inserted again: the first entry was not used for the longest time.
  const versions = new Map<SessionId, Version>();
  /** All event ids of a stream, or nothing of it. */
  const ids = new Map<SessionId, Set<EventId>>();
  let idsKept = 0;

  function dropIds(session: SessionId): void {
    idsKept -= ids.get(session)?.size ?? 0;
    ids.delete(session);
  }

  function addIds(session: SessionId, write: Write): void {
    const held = write.kind === 'create' ? new Set<EventId>() : ids.get(session);
    if (held === undefined) return;
    dropIds(session);
    if (write.kind === 'append') for (const event of write.events) held.add(event);
    ids.set(session, held);
    idsKept += held.size;
  }

  const hasExcessIds = (): boolean => idsKept > EVENT_IDS_CACHED_MAX || ids.size > HEADS_CACHED_MAX;

  // A map keeps a gap where an entry was until it is laid out anew, and whoever looks for its first entry goes over all
  // of them: some 10 µs with 20,000 sessions. So nobody looks while there is room.
  function forgetOldest(): void {
    if (versions.size > HEADS_CACHED_MAX) {
      for (const oldest of versions.keys()) {
        versions.delete(oldest);
        if (versions.size <= HEADS_CACHED_MAX) break;
      }
    }
    if (!hasExcessIds()) return;
    for (const oldest of ids.keys()) {
      dropIds(oldest);
      if (!hasExcessIds()) break;
    }
  }

  return {
    version: (session) => versions.get(session),
    holds: (session, event) => ids.get(session)?.has(event),
    remember(written, changed) {
      for (const [session, version] of changed) {
        versions.delete(session);
        versions.set(session, version);
      }
      for (const write of written) addIds(write.session, write);
      forgetOldest();
    },
    forget() {
      versions.clear();
      ids.clear();
      idsKept = 0;
    },
  };
}

// A cache for the only writer of a journal: the versions of its streams, and all event ids of the streams that it created.
// It is bounded, reflects the last successful write, and is cleared when a write fails.
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { EVENT_IDS_CACHED_MAX, HEADS_CACHED_MAX } from '../../schemas/limits.ts';
import type { Write } from './admission.ts';

export interface KnownStreams {
  version(session: SessionId): Version | undefined;
  /** Whether a stream holds an event id; undefined when it must be read from the store. */
  holds(session: SessionId, event: EventId): boolean | undefined;
  /** Notes writes that are on disk, and the versions after them. */
  remember(written: readonly Write[], versions: ReadonlyMap<SessionId, Version>): void;
  forget(): void;
}

export function newKnownStreams(): KnownStreams {
  // Maps keep insertion order, and a changed entry is inserted again: the first entry is the least recently written one.
  const versions = new Map<SessionId, Version>();
  /** All event ids of a stream, or no entry for it. */
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

  // A map keeps a gap for each deleted entry until it is rehashed, and finding its first entry steps over all gaps: some
  // 10 µs with 20,000 sessions. So the first entry is looked up only when the cache is full.
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

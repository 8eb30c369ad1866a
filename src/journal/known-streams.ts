// A cache for the only writer of a journal: what it needs of the heads of its streams, all event ids of the streams that it created, and
// the tool packages that it stored.
// It is bounded, reflects the last successful write, and is cleared when a write fails.
import type { Digest, EventId, SessionId } from '../../schemas/ids.ts';
import { EVENT_IDS_CACHED_MAX, HEADS_CACHED_MAX, PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import type { KnownHead, Write } from './admission.ts';

export interface KnownStreams {
  head(session: SessionId): KnownHead | undefined;
  /** Whether a stream holds an event id; undefined when it must be read from the store. */
  holds(session: SessionId, event: EventId): boolean | undefined;
  /** Whether a tool package is known to be stored. */
  hasPackage(digest: Digest): boolean;
  /** Notes writes that are on disk, and the heads after them. */
  remember(written: readonly Write[], heads: ReadonlyMap<SessionId, KnownHead>): void;
  forget(): void;
}

export function newKnownStreams(): KnownStreams {
  // Maps keep insertion order, and a changed entry is inserted again: the first entry is the least recently written one.
  const heads = new Map<SessionId, KnownHead>();
  /** All event ids of a stream, or no entry for it. */
  const ids = new Map<SessionId, Set<EventId>>();
  let idsKept = 0;
  const packages = new Set<Digest>();

  function addPackage(write: Write): void {
    if (write.kind !== 'create') return;
    const [oldest] = packages;
    if (packages.size >= PACKAGES_SHARED_MAX && oldest !== undefined) packages.delete(oldest);
    packages.add(write.tool_package.digest);
  }

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
    if (heads.size > HEADS_CACHED_MAX) {
      for (const oldest of heads.keys()) {
        heads.delete(oldest);
        if (heads.size <= HEADS_CACHED_MAX) break;
      }
    }
    if (!hasExcessIds()) return;
    for (const oldest of ids.keys()) {
      dropIds(oldest);
      if (!hasExcessIds()) break;
    }
  }

  return {
    head: (session) => heads.get(session),
    holds: (session, event) => ids.get(session)?.has(event),
    hasPackage: (digest) => packages.has(digest),
    remember(written, changed) {
      for (const [session, head] of changed) {
        heads.delete(session);
        heads.set(session, head);
      }
      for (const write of written) {
        if (write.kind === 'delete') {
          heads.delete(write.session);
          dropIds(write.session);
          continue;
        }
        addIds(write.session, write);
        addPackage(write);
      }
      forgetOldest();
    },
    forget() {
      heads.clear();
      packages.clear();
      ids.clear();
      idsKept = 0;
    },
  };
}

// Decides which sessions are whole, from what could be read of a journal. Three facts make this possible: the text of a
// genesis or of an event never changes once it is written; positions have no gaps; and nothing of a stream is deleted, except
// with all of it, behind a tombstone. So an event that was found is right, and a session is whole when its genesis, its tool
// package and all its events were found and its end is known. Its end is known from a head that cannot be outdated, from the
// log, or because nothing can be lost right after its last event.
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { type HeadFacts, INCOMPLETE, isIncomplete } from '../../../schemas/session-head.ts';
import type { LostPositions } from './damage-record.ts';
import { type KeySpan, spansInclude } from '../level/key-spans.ts';
import { commitKey, headKey } from '../keys.ts';
import type { StoredHead } from '../stored-values.ts';

/** What was found of a session. */
export interface Remains {
  genesis: boolean;
  /** Whether its genesis says that it is a copy that is not stored completely. */
  incomplete: boolean;
  /** The tool package that its genesis names. */
  tool_package: Digest | null;
  head: StoredHead | null;
  /** The position after its last event. */
  next: number;
  /** The first and the last position of events that are missing before that. */
  gap: { readonly first: number; readonly last: number } | null;
}

/** Where entries may be lost, or may have been found in an older version. */
export interface Losses {
  /** The spans of keys that tables lost. */
  readonly spans: readonly KeySpan[];
  /** Whether a key is in the log, so that no table can contain a newer version of it. */
  readonly isLogged: (key: Uint8Array) => boolean;
  /** For sessions that the log names, the newest version that it states: they had at least this one. */
  readonly named: ReadonlyMap<SessionId, Version>;
  /** The tool packages that were found. */
  readonly packages: ReadonlySet<Digest>;
}

export interface Verdict {
  readonly head: StoredHead;
  /** Null when the session is whole. */
  readonly lost: LostPositions | null;
}

/** The facts of a session whose head was lost; they are written anew with its next append. */
const UNKNOWN: HeadFacts = {
  owing: true,
  wake_at_ms: null,
  card: { title: null, status: 'idle', parent: null, last_activity_ms: 0, outcome: null },
};

export const nothingOf = (): Remains => ({
  genesis: false,
  incomplete: false,
  tool_package: null,
  head: null,
  next: 0,
  gap: null,
});

/** Notes events that were found; must be called in the order of positions. */
export function noteEvents(remains: Remains, first: number, count: number): void {
  if (first > remains.next) remains.gap = { first: remains.gap?.first ?? remains.next, last: first - 1 };
  remains.next = first + count;
}

/** Whether its genesis and the tool package that it names were found. */
const beginsWhole = ({ genesis, tool_package }: Remains, { packages }: Losses): boolean =>
  genesis && (tool_package === null || packages.has(tool_package));

export function judgeSession(id: SessionId, remains: Remains, losses: Losses): Verdict {
  const { head, next, gap } = remains;
  const least = Math.max(head?.version ?? 0, losses.named.get(id) ?? 0);
  const version = endOf(id, { head, next, least }, losses);
  const missing: number[] = beginsWhole(remains, losses) ? [] : [-1];
  if (gap !== null) missing.push(gap.first, gap.last);
  if (version === null) missing.push(next);
  else if (version !== next) missing.push(Math.min(version, next), Math.max(version, next) - 1);
  const isAsFound = head !== null && isIncomplete(head) === remains.incomplete;
  if (missing.length === 0 && isAsFound && head.version === version) return { head, lost: null };
  const known: StoredHead = {
    ...factsOf(remains),
    version: Math.max(version ?? 0, next, least) as Version,
  };
  if (missing.length === 0) return { head: known, lost: null };
  return {
    head: known,
    lost: { first: Math.min(...missing), last: version === null ? null : Math.max(...missing) },
  };
}

/**
 * The facts of a head that is not as its last write left it. Marked as owing, so that the engine loads the session when it
 * starts and reports the damage; a whole session is only loaded. The genesis says whether a copy is complete: it is not
 * loaded without one, and nothing of an incomplete copy is owed.
 */
function factsOf({ head, incomplete }: Remains): HeadFacts {
  if (incomplete) return INCOMPLETE;
  const { wake_at_ms, card } = head === null || isIncomplete(head) ? UNKNOWN : head;
  return { owing: true, wake_at_ms, card };
}

interface Known {
  readonly head: StoredHead | null;
  readonly next: number;
  readonly least: number;
}

/** The version of a session, or null when its last events may be lost. */
function endOf(id: SessionId, { head, next, least }: Known, { spans, isLogged }: Losses): number | null {
  const inDoubt = (key: Uint8Array): boolean => spansInclude(spans, key) && !isLogged(key);
  if (head !== null && !inDoubt(headKey(id))) return least;
  return inDoubt(commitKey(id, next as Position)) || least > next ? null : next;
}

// Decides which sessions are whole, from what could be read of a journal. Three facts make this possible: a genesis or an
// event never changes once it is written; positions have no gaps; and nothing is deleted. So an event that was found is
// right, and a session is whole when its genesis and all its events were found and its end is known. Its end is known from
// a head that cannot be outdated, from the log, or because nothing can be lost right after its last event.
import type { Position, SessionId, Version } from '../../../schemas/ids.ts';
import type { LostPositions } from './damage-record.ts';
import { type KeySpan, spansInclude } from '../level/key-spans.ts';
import { headKey, stretchKey } from '../keys.ts';
import { headKey1, recordKey1 } from './layout-1.ts';
import type { StoredHead } from '../stored-values.ts';

/** What was found of a session. */
export interface Remains {
  genesis: boolean;
  head: StoredHead | null;
  /** The position after its last event. */
  next: number;
  /** The first and the last position of events that are missing before that. */
  gap: { readonly first: number; readonly last: number } | null;
}

/** Where entries may be lost, or may have been found in an older version. */
export interface Losses {
  /** The layout of the keys that may be lost. */
  readonly layout: number;
  /** The spans of keys that tables lost. */
  readonly spans: readonly KeySpan[];
  /** Whether a key is in the log, so that no table can contain a newer version of it. */
  readonly isLogged: (key: Uint8Array) => boolean;
  /** For sessions that the log names, the newest version that it states: they had at least this one. */
  readonly named: ReadonlyMap<SessionId, Version>;
}

export interface Verdict {
  readonly head: StoredHead;
  /** Null when the session is whole. */
  readonly lost: LostPositions | null;
}

export const nothingOf = (): Remains => ({ genesis: false, head: null, next: 0, gap: null });

/** Notes events that were found; must be called in the order of positions. */
export function noteEvents(remains: Remains, first: number, count: number): void {
  if (first > remains.next) remains.gap = { first: remains.gap?.first ?? remains.next, last: first - 1 };
  remains.next = first + count;
}

export function judgeSession(id: SessionId, { genesis, head, next, gap }: Remains, losses: Losses): Verdict {
  const least = Math.max(head?.version ?? 0, losses.named.get(id) ?? 0);
  const version = endOf(id, { head, next, least }, losses);
  const missing: number[] = genesis ? [] : [-1];
  if (gap !== null) missing.push(gap.first, gap.last);
  if (version === null) missing.push(next);
  else if (version !== next) missing.push(Math.min(version, next), Math.max(version, next) - 1);
  if (missing.length === 0 && head?.version === version) return { head, lost: null };
  // Marked as owing, so that the engine loads it when it starts and reports the damage; a whole session is only loaded.
  const known: StoredHead = { version: Math.max(version ?? 0, next, least) as Version, owing: true };
  if (missing.length === 0) return { head: known, lost: null };
  return {
    head: known,
    lost: { first: Math.min(...missing), last: version === null ? null : Math.max(...missing) },
  };
}

interface Known {
  readonly head: StoredHead | null;
  readonly next: number;
  readonly least: number;
}

/** The version of a session, or null when its last events may be lost. */
function endOf(id: SessionId, { head, next, least }: Known, { layout, spans, isLogged }: Losses): number | null {
  const inDoubt = (key: Uint8Array): boolean => spansInclude(spans, key) && !isLogged(key);
  const [ofHead, ofNext] =
    layout === 1 ? [headKey1(id), recordKey1(id, next as Position)] : [headKey(id), stretchKey(id, next as Position)];
  if (head !== null && !inDoubt(ofHead)) return least;
  return inDoubt(ofNext) || least > next ? null : next;
}

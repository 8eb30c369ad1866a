// Writes the last part of a rebuilt journal: the heads and their indexes, what each session lost, and the number of sessions.
import type { SessionId } from '../../../schemas/ids.ts';
import { DAMAGED_SESSIONS_MAX } from '../../../schemas/limits.ts';
import type { BulkWriter } from './bulk-writer.ts';
import { type Damage, type LostPositions, putLost } from './damage-record.ts';
import type { Copied } from './copy-journal.ts';
import { type SessionSpan, intersectSessions, sessionsIn, spansInclude } from '../level/key-spans.ts';
import { NOT_INDEXED, indexChanges } from '../head-index.ts';
import { GENESIS_LETTER, HEAD_LETTER, META_KEY, headKey } from '../keys.ts';
import { RESTORE_ADVICE } from '../level/verify-files.ts';
import { refuse } from '../refusal.ts';
import { type Losses, judgeSession, nothingOf } from './session-verdict.ts';
import { encodeHead, encodeMeta } from '../stored-values.ts';

export interface Found {
  readonly copied: Copied;
  readonly losses: Losses;
  /** Whether the log lost writes; the newest number of sessions may have been among them. */
  readonly isLogLossy: boolean;
  /** What earlier rebuilds recorded as lost. */
  readonly before: Damage | null;
}

/** Returns the spans of ids of sessions that may have existed and of which nothing is left. */
export async function writeSessions(writes: BulkWriter, found: Found): Promise<readonly SessionSpan[]> {
  const { copied, losses, before } = found;
  const lostBefore = before?.sessions ?? new Map<SessionId, LostPositions>();
  const named = [...new Set([...copied.sessions.keys(), ...losses.named.keys()])];
  const ids = named.filter((id) => !copied.deleted.has(id));
  let damaged = lostBefore.size;
  for (const id of ids) {
    const { head, lost } = judgeSession(id, copied.sessions.get(id) ?? nothingOf(), losses);
    writes.add({ key: headKey(id), value: encodeHead(head) }, ...indexChanges(id, NOT_INDEXED, head));
    if (lost !== null) {
      if (!lostBefore.has(id)) damaged += 1;
      // Every opening reads the whole record, which has one more key.
      if (damaged >= DAMAGED_SESSIONS_MAX)
        refuse('damaged', `more than ${DAMAGED_SESSIONS_MAX - 1} sessions are damaged; ${RESTORE_ADVICE}`);
      writes.add(putLost(id, widest(lost, lostBefore.get(id) ?? lost)));
    }
    await writes.flushIfFull();
  }
  if (ids.length + copied.deleted.size === 0 && losses.spans.length > 0)
    refuse('damaged', `no readable part of the journal names a session; ${RESTORE_ADVICE}`);
  if (ids.length + copied.deleted.size > 0) writes.add({ key: META_KEY, value: encodeMeta(ids.length) });
  await writes.flush();
  return [...(before?.vanished ?? []), ...vanishedOf(ids.length, found)];
}

function widest(a: LostPositions, b: LostPositions): LostPositions {
  const last = a.last === null || b.last === null ? null : Math.max(a.last, b.last);
  return { first: Math.min(a.first, b.first), last };
}

function vanishedOf(count: number, { copied, losses, isLogLossy }: Found): readonly SessionSpan[] {
  const { spans, isLogged } = losses;
  const { sessionCount } = copied;
  const isSure = !spansInclude(spans, META_KEY) || isLogged(META_KEY);
  const stated = isSure ? sessionCount : null;
  if (stated === count) return [];
  // A session begins with its genesis and its head, in one write.
  const vanished = intersectSessions(sessionsIn(spans, GENESIS_LETTER), sessionsIn(spans, HEAD_LETTER));
  if (stated !== null && (stated > count ? vanished.length === 0 : !isLogLossy)) {
    refuse(
      'damaged',
      `the journal states that it contains ${stated} sessions, but ${count} were found; ${RESTORE_ADVICE}`,
    );
  }
  return vanished;
}

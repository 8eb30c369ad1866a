// Two indexes over the heads: the sessions that owe, and the times that sessions wait for. They are derived, so heads are the
// truth: a rebuild makes the indexes anew from them (salvage/rebuilt-sessions.ts). An entry is deleted in the write that
// makes it wrong.
import type { SessionId } from '../../schemas/ids.ts';
import type { HeadFacts } from '../../schemas/session-head.ts';
import { owingKey, wakeKey } from './keys.ts';
import type { Change } from './store.ts';

/** What the indexes hold of a session. */
export type Indexed = Pick<HeadFacts, 'owing' | 'wake_at_ms'>;

/** A session that does not exist. */
export const NOT_INDEXED: Indexed = { owing: false, wake_at_ms: null };

/** The entries to put and to delete when the head of a session changes; mostly none. */
export function indexChanges(session: SessionId, before: Indexed, after: Indexed): readonly Change[] {
  const changes: Change[] = [];
  if (before.owing !== after.owing) changes.push({ key: owingKey(session), value: after.owing ? NOTHING : null });
  if (before.wake_at_ms !== after.wake_at_ms) {
    if (before.wake_at_ms !== null) changes.push({ key: wakeKey(before.wake_at_ms, session), value: null });
    if (after.wake_at_ms !== null) changes.push({ key: wakeKey(after.wake_at_ms, session), value: NOTHING });
  }
  return changes;
}

/** An entry says all with its key. */
export const NOTHING = new Uint8Array();

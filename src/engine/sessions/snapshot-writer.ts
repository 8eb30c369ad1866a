// Writes snapshots of sessions in the background, so that their next load is short. It never delays an append: it works
// after the answer, on one session at a time. A snapshot that fails is tried again when the next one is due.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Version } from '../../../schemas/ids.ts';
import {
  SNAPSHOTS_WAITING_MAX,
  SNAPSHOT_CHARS_MAX,
  SNAPSHOT_DELAY_MS,
  SNAPSHOT_EVERY_CHARS,
  SNAPSHOT_EVERY_EVENTS,
  SNAPSHOT_SIZE_SHARE,
} from '../../../schemas/limits.ts';
import { makeSnapshot } from '../../core/snapshot.ts';
import type { Snapshots } from '../../journal/snapshots.ts';
import type { Clock } from '../../clock.ts';
import { type TellFault, tellError } from '../faults.ts';
import type { LiveSession } from '../append/live-session.ts';

const WRITING = 'writing a snapshot';

export interface SnapshotWriter {
  /** Schedules a snapshot of the session, if one is due. */
  consider(session: LiveSession): void;
  /** Writes no snapshot of this session from now on; resolves when none is being written. */
  forget(session: LiveSession): Promise<void>;
  /** Starts no further snapshots, and waits for the one that is being written. */
  close(): Promise<void>;
}

/** The session as of its last snapshot or attempted snapshot. */
interface Mark {
  readonly version: Version;
  /** Characters of its events by then. */
  readonly chars: number;
  /** Characters of that snapshot. */
  readonly size: number;
}

export function newSnapshotWriter(
  snapshots: Snapshots,
  { clock, tellFault }: { readonly clock: Clock; readonly tellFault: TellFault },
  everyEvents: number = SNAPSHOT_EVERY_EVENTS,
): SnapshotWriter {
  const marks = new WeakMap<LiveSession, Mark>();
  // In the order in which they became due.
  const due = new Set<LiveSession>();
  let cancel: (() => void) | null = null;
  let writing: Promise<void> | null = null;
  let closed = false;

  const markOf = (session: LiveSession): Mark =>
    marks.get(session) ?? { version: session.from.version, chars: 0, size: 0 };

  function isDue(session: LiveSession): boolean {
    const mark = markOf(session);
    const events = session.state().version - mark.version;
    const chars = session.chars() - mark.chars;
    return chars >= SNAPSHOT_EVERY_CHARS || (events >= everyEvents && chars * SNAPSHOT_SIZE_SHARE >= mark.size);
  }

  function schedule(): void {
    if (closed || cancel !== null || writing !== null || due.size === 0) return;
    cancel = clock.after(SNAPSHOT_DELAY_MS, () => {
      cancel = null;
      writing = writeNext().finally(() => {
        writing = null;
        schedule();
      });
    });
  }

  async function writeNext(): Promise<void> {
    const [session] = due;
    if (session === undefined) return;
    due.delete(session);
    const state = session.state();
    const before = markOf(session);
    const mark = { version: state.version, chars: session.chars(), size: before.size };
    marks.set(session, mark);
    try {
      const snapshot = makeSnapshot(state, session.chain());
      marks.set(session, { ...mark, size: snapshot?.state.length ?? SNAPSHOT_CHARS_MAX });
      if (snapshot === null) return;
      for (const version of session.from.wrong) await snapshots.drop(session.id, version)();
      const put = await snapshots.put(snapshot)();
      if (isLeft(put)) tellFault({ session_id: session.id, doing: WRITING, reason: put.left.message });
    } catch (error) {
      // The store throws where it should refuse. Losing a snapshot only makes the next load slower.
      tellError(tellFault, session.id, WRITING, error);
    }
  }

  return {
    consider(session) {
      if (closed || !isDue(session)) return;
      due.add(session);
      const [oldest] = due;
      if (due.size > SNAPSHOTS_WAITING_MAX && oldest !== undefined) due.delete(oldest);
      schedule();
    },
    async forget(session) {
      due.delete(session);
      await writing;
    },
    async close() {
      closed = true;
      cancel?.();
      due.clear();
      await writing;
    },
  };
}

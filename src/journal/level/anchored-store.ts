// A store that acknowledges a write only while its files are reachable by name: the directory, the lock file, and the log
// that the write went to. Otherwise a deleted or renamed journal would go on to accept events, and a second engine could open
// a journal whose lock file was deleted.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Anchor, type Identity, PUT_BACK, identityOf, movedFrom } from '../../files/anchor.ts';
import { refuse } from '../refusal.ts';
import type { Store } from '../store.ts';

/** Wraps an open store in `directory`. Its writes are refused as `storage_failed` from then on when a file is lost. */
export function anchorStore(directory: string, anchor: Anchor, store: Store): Store {
  const lock = join(directory, 'LOCK');
  const lockIdentity = identityOf(statSync(lock));
  let log = newestLog(directory);

  /**
   * LevelDB keeps its lock and its log open, so no other file gets their inodes. A log that its name leads to is in the
   * directory that was opened, so that the directory is looked at only when the log is not found.
   */
  function findLoss(): string | null {
    return findLogLoss() ?? movedFrom(lock, lockIdentity);
  }

  function findLogLoss(): string | null {
    const moved = log === null ? `${directory} has no log` : movedFrom(join(directory, log.name), log.identity);
    if (moved === null) return null;
    const lost = anchor.lost();
    if (lost !== null) return lost;
    // LevelDB begins a new log when the old one is full, and deletes the old one once a table has its content.
    const newest = newestLog(directory);
    if (newest === null || (log !== null && newest.number <= log.number)) return moved;
    log = newest;
    return null;
  }

  const check = (loss: string | null): void => {
    if (loss !== null) refuse('storage_failed', `the journal is no longer in its place: ${loss}; ${PUT_BACK}`);
  };

  return {
    ...store,
    check: () => check(findLoss()),
    write: async (changes) => {
      await store.write(changes);
      check(findLoss());
    },
  };
}

interface Log {
  readonly name: string;
  readonly number: number;
  readonly identity: Identity;
}

/** The log that LevelDB writes to: the one with the highest number. */
function newestLog(directory: string): Log | null {
  try {
    const numbers = readdirSync(directory).flatMap((name) => /^(\d+)\.log$/.exec(name)?.[1] ?? []);
    const name = `${numbers.sort((a, b) => Number(a) - Number(b)).at(-1) ?? ''}.log`;
    return { name, number: Number(name.replace('.log', '')), identity: identityOf(statSync(join(directory, name))) };
  } catch {
    // The directory or the log was just removed; the caller says so.
    return null;
  }
}

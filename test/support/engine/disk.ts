// Stores in memory that outlive the engines opened over them, with a fault on any call that a test chooses.
import { left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { Blobs } from '../../../src/blobs/blobs.ts';
import { openMemoryBlobs } from '../../../src/blobs/memory-blobs.ts';
import type { Journal } from '../../../src/journal/journal.ts';
import { openMemoryJournal } from '../../../src/journal/memory-journal.ts';

/**
 * `refused`, `full`: nothing is done, and the call is refused. `unknown`: nothing is done, and the call returns
 * `storage_unknown`. `lost_ack`: the work is done, and the call returns `storage_unknown`. `throws`: an internal error of the
 * adapter. `dead_before`, `dead_after`: the process stops before or after the work, and the call never returns.
 */
export type IoFault = 'refused' | 'full' | 'unknown' | 'lost_ack' | 'throws' | 'dead_before' | 'dead_after';

export interface IoCall {
  /** 1 for the first call of the disk. */
  readonly nth: number;
  readonly name: string;
}

export interface Disk {
  /** The durable stores. */
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** The ports of one engine; after a `dead` fault they never answer. */
  readonly ports: () => { readonly journal: Journal; readonly blobs: Blobs };
  /** The names of all calls so far. */
  readonly calls: string[];
  /** Decides about each call; null for no fault. */
  fault: (call: IoCall) => IoFault | null;
  /** Resolves when the process that was opened last has stopped. */
  readonly died: () => Promise<void>;
}

export function newDisk(): Disk {
  const journal = openMemoryJournal();
  const blobs = openMemoryBlobs();
  const calls: string[] = [];
  let stopped = false;
  const waiting = new Set<() => void>();
  const died = (): Promise<void> =>
    new Promise((resolve) => {
      if (stopped) resolve();
      else waiting.add(resolve);
    });

  function ports(): { readonly journal: Journal; readonly blobs: Blobs } {
    stopped = false;
    const process = { dead: false, closed: false };

    const through =
      <T>(name: string, call: TaskEither<Rejection, T>): TaskEither<Rejection, T> =>
      async () => {
        if (process.dead) return await NEVER;
        if (process.closed) return left(reject('closing', '', 'closed'));
        calls.push(name);
        const fault = disk.fault({ nth: calls.length, name });
        if (fault === 'refused') return left(reject('storage_failed', '', 'made to fail'));
        if (fault === 'full') return left(reject('storage_full', '', 'made to be full'));
        if (fault === 'unknown') return left(reject('storage_unknown', '', 'made to be unknown'));
        if (fault === 'throws') throw new Error('made to throw');
        if (fault === 'dead_before' || fault === 'dead_after') {
          process.dead = true;
          if (fault === 'dead_after') await call();
          stopped = true;
          for (const resolve of waiting) resolve();
          waiting.clear();
          return await NEVER;
        }
        const answer = await call();
        return fault === 'lost_ack' ? left(reject('storage_unknown', '', 'the answer was lost')) : answer;
      };

    const close = async (): Promise<void> => {
      process.closed = true;
    };
    return {
      journal: {
        create: (...args) => through('create', journal.create(...args)),
        genesis: (...args) => through('genesis', journal.genesis(...args)),
        genesisOfCopy: (...args) => through('genesis', journal.genesisOfCopy(...args)),
        toolPackage: (...args) => through('package', journal.toolPackage(...args)),
        append: (...args) => through('append', journal.append(...args)),
        page: (...args) => through('page', journal.page(...args)),
        pages: (...args) => through('pages', journal.pages(...args)),
        deletePages: (...args) => through('delete pages', journal.deletePages(...args)),
        read: (...args) => through('read', journal.read(...args)),
        head: (...args) => through('head', journal.head(...args)),
        find: (...args) => through('find', journal.find(...args)),
        delete: (...args) => through('delete session', journal.delete(...args)),
        deleteDamaged: (...args) => through('delete session', journal.deleteDamaged(...args)),
        entries: () => journal.entries(),
        probe: (...args) => through('probe', journal.probe(...args)),
        tombstones: (...args) => through('tombstones', journal.tombstones(...args)),
        restate: (...args) => through('restate', journal.restate(...args)),
        sessions: (...args) => through('sessions', journal.sessions(...args)),
        due: (...args) => through('due', journal.due(...args)),
        snapshots: {
          put: (...args) => through('snapshot put', journal.snapshots.put(...args)),
          versions: (...args) => through('snapshot versions', journal.snapshots.versions(...args)),
          get: (...args) => through('snapshot get', journal.snapshots.get(...args)),
          drop: (...args) => through('snapshot drop', journal.snapshots.drop(...args)),
          dropAll: (...args) => through('snapshot drop all', journal.snapshots.dropAll(...args)),
        },
        close,
      },
      blobs: {
        put: (...args) => through('put', blobs.put(...args)),
        get: (...args) => through('get', blobs.get(...args)),
        has: (...args) => through('has', blobs.has(...args)),
        ends: (...args) => through('ends', blobs.ends(...args)),
        lastPut: (...args) => through('last put', blobs.lastPut(...args)),
        list: () => blobs.list(),
        probe: () => blobs.probe(),
        delete: (...args) => through('delete', blobs.delete(...args)),
        close,
      },
    };
  }

  const disk: Disk = { journal, blobs, ports, calls, fault: () => null, died };
  return disk;
}

const NEVER = new Promise<never>(() => undefined);

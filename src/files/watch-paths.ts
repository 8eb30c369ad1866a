// Tells when files or directories changed, for what is read again while a process runs: skills, a catalog, a configuration.
// The system says so at once where it can (inotify). It says nothing on some file systems, and not beyond its own limits, so
// the paths are also looked at now and then. A report means that something may have changed: the reader compares what it reads.
import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { WATCH_LOOK_MS, WATCH_PATHS_MAX, WATCH_SETTLE_MS } from '../../schemas/limits.ts';

export interface WatchOptions {
  /**
   * The absolute paths of the files and directories to watch, asked again after each change. Name the files of a directory as
   * well as the directory. A path that does not exist yet may be among them.
   */
  readonly paths: () => readonly string[];
  /**
   * Called once after the start, because something may have changed since the paths were read, and after each change; never
   * while an earlier call has not resolved.
   */
  readonly onChange: () => void | Promise<void>;
  /** Gets what `onChange` throws. */
  readonly onError: (error: unknown) => void;
  /** Calls `then` once, after `ms` milliseconds; the returned function cancels the call. */
  readonly after: (ms: number, then: () => void) => () => void;
}

export interface PathWatch {
  /** No change is reported after it. Resolves when the report that is being handled has been. */
  close(): Promise<void>;
}

export function watchPaths({ paths, onChange, onError, after }: WatchOptions): PathWatch {
  const directories = newDirectoryWatchers((isNamed) => settle(isNamed));
  let stamps: ReadonlyMap<string, string> = new Map();
  let closed = false;
  let cancelSettling: (() => void) | null = null;
  let cancelLook: () => void = () => undefined;
  let handling: Promise<void> | null = null;
  /** Whether something did change; else the stamps must be compared. */
  let isCertain = false;

  /** Gathers what changes at about the same time. What comes while a change is handled is looked at after it. */
  function settle(certain: boolean): void {
    isCertain ||= certain;
    if (closed || cancelSettling !== null || handling !== null) return;
    cancelSettling = after(WATCH_SETTLE_MS, () => {
      cancelSettling = null;
      look();
    });
  }

  function look(): void {
    if (closed || handling !== null) return;
    if (isCertain || hasChanged(stamps)) handling = handle();
  }

  async function handle(): Promise<void> {
    const before = stampsOf(paths());
    isCertain = false;
    try {
      await onChange();
    } catch (error) {
      onError(error);
    }
    handling = null;
    if (closed) return;
    // A path that is new now was read before it was watched.
    const isNew = follow();
    if (isNew || isCertain || hasChanged(before)) settle(true);
  }

  /** Watches the directories of the present paths; returns whether there is a path that was not known. */
  function follow(): boolean {
    const known = stamps;
    stamps = stampsOf(paths());
    directories.follow([...stamps.keys()], (path) => known.get(path) !== stamps.get(path));
    return [...stamps.keys()].some((path) => !known.has(path));
  }

  function lookAgain(): void {
    cancelLook = after(WATCH_LOOK_MS, () => {
      look();
      if (!closed) lookAgain();
    });
  }

  follow();
  settle(true);
  lookAgain();
  return {
    async close() {
      closed = true;
      cancelSettling?.();
      cancelLook();
      directories.close();
      await handling;
    },
  };
}

interface DirectoryWatchers {
  /** Watches the directories among these paths, and those above. `isOther`: what is at a path now is not what was watched. */
  follow(paths: readonly string[], isOther: (path: string) => boolean): void;
  close(): void;
}

/** What the system tells. A directory that is only above a path may be busy with other files: then `isNamed` is false. */
function newDirectoryWatchers(onEvent: (isNamed: boolean) => void): DirectoryWatchers {
  const watchers = new Map<string, FSWatcher>();

  function begin(path: string, isNamed: boolean): void {
    try {
      const watcher = watch(path, { persistent: false }, () => onEvent(isNamed));
      watcher.on('error', () => {
        watcher.close();
        if (watchers.get(path) === watcher) watchers.delete(path);
      });
      watchers.set(path, watcher);
    } catch {
      // It does not exist, or the system watches no more: looking finds what changes.
    }
  }

  return {
    follow(paths, isOther) {
      const wanted = new Map<string, boolean>();
      for (const path of paths) wanted.set(dirname(path), wanted.get(dirname(path)) ?? false);
      for (const path of paths) if (isDirectory(path)) wanted.set(path, true);
      for (const [path, watcher] of watchers) {
        if (wanted.has(path) && !isOther(path)) continue;
        watcher.close();
        watchers.delete(path);
      }
      for (const [path, isNamed] of wanted) if (!watchers.has(path)) begin(path, isNamed);
    },
    close() {
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

const stampsOf = (paths: readonly string[]): ReadonlyMap<string, string> =>
  new Map(paths.slice(0, WATCH_PATHS_MAX).map((path) => [path, stampOf(path)]));

const hasChanged = (stamps: ReadonlyMap<string, string>): boolean =>
  [...stamps].some(([path, stamp]) => stampOf(path) !== stamp);

/** Which file it is, and what changes with its content; empty where there is none. */
function stampOf(path: string): string {
  try {
    const { dev, ino, mtimeNs, ctimeNs, size } = lstatSync(path, { bigint: true });
    return `${dev}:${ino} ${mtimeNs} ${ctimeNs} ${size}`;
  } catch {
    return '';
  }
}

function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

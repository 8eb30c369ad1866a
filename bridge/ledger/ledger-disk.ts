// Storage for ledgers: a port, so that tests can make every operation fail, and its adapter for a directory.
import { appendFileSync } from 'node:fs';
import { type FileHandle, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LEDGER_FILE_BYTES_MAX } from '../../schemas/limits.ts';
import { type Anchor, PUT_BACK, anchorDirectory, identityOf, movedFrom } from '../../src/files/anchor.ts';
import { makeDirectory } from '../../src/files/directories.ts';

/** Every method may throw, and its effect is then unknown; only `rename` is atomic. */
export interface LedgerDisk {
  names(): Promise<readonly string[]>;
  read(name: string): Promise<Uint8Array>;
  /** Creates a file with these bytes, open for appending; the file and its name are durable when it resolves. */
  create(name: string, bytes: Uint8Array): Promise<LedgerFile>;
  /** Returns false when the file does not exist. */
  rename(from: string, to: string): Promise<boolean>;
  remove(name: string): Promise<void>;
}

export interface LedgerDirectory extends LedgerDisk {
  /** Closes what it holds open itself; a ledger closes its file. */
  close(): void;
}

export interface LedgerFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Makes what was appended survive a power cut. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface LedgerDiskOptions {
  /**
   * Whether what is appended waits for the disk; true by default. When false, it survives the death of the process at once,
   * and a power cut only later.
   */
  readonly synced?: boolean;
}

/** A directory of ledgers; created when it is missing. */
export async function openLedgerDirectory(
  path: string,
  { synced = true }: LedgerDiskOptions = {},
): Promise<LedgerDirectory> {
  await makeDirectory(path);
  const anchor = anchorDirectory(path);
  const at = (name: string): string => join(path, name);

  const syncNames = async (): Promise<void> => {
    const directory = await open(path, 'r');
    await directory.sync().finally(() => directory.close());
  };

  return {
    names: () => readdir(path),
    async read(name) {
      const bytes = await readFile(at(name));
      return bytes.subarray(0, LEDGER_FILE_BYTES_MAX);
    },
    async create(name, bytes) {
      checkPlace(anchor.lost());
      const unfinished = at(`${name}${UNFINISHED}`);
      const file = await open(unfinished, 'w', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
        await rename(unfinished, at(name));
        await syncNames();
      } catch (error) {
        await file.close();
        throw error;
      }
      try {
        checkPlace(anchor.lost());
        return await fileOf(file, at(name), { anchor, synced });
      } catch (error) {
        await file.close();
        throw error;
      }
    },
    async rename(from, to) {
      try {
        await rename(at(from), at(to));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw error;
      }
    },
    remove: (name) => rm(at(name), { force: true }),
    close: () => anchor.close(),
  };
}

/** The suffix of a file that is still being written. */
export const UNFINISHED = '.tmp';

/** What was appended counts only while the ledger is found by its name: a successor looks for it there. */
async function fileOf(
  file: FileHandle,
  path: string,
  { anchor, synced }: { readonly anchor: Anchor; readonly synced: boolean },
): Promise<LedgerFile> {
  const identity = identityOf(await file.stat());
  const check = (): void => checkPlace(anchor.lost() ?? movedFrom(path, identity));
  return {
    append: async (bytes) => {
      // A line that waits for no disk is in the system's memory sooner than another thread would begin to write it.
      if (synced) await file.appendFile(bytes);
      else appendFileSync(file.fd, bytes);
      check();
    },
    sync: async () => {
      if (!synced) return;
      await file.datasync();
      check();
    },
    close: () => file.close(),
  };
}

function checkPlace(lost: string | null): void {
  if (lost !== null) throw new Error(`the ledger is no longer in its place: ${lost}; ${PUT_BACK}`);
}

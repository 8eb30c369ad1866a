// A directory of ledgers in memory that can fail at any operation, and whose files tests can corrupt.
import type { LedgerDisk, LedgerFile } from '../../../bridge/ledger/ledger-disk.ts';

/** `refused`: nothing was done. `torn`: half of it was done. `lost`: it was done, and reported as failed. */
export type DiskFault = 'refused' | 'torn' | 'lost' | null;

export interface MemoryDisk extends LedgerDisk {
  readonly files: Map<string, Uint8Array>;
  /** Called for each write operation with the number of earlier ones. */
  fault: (operation: number) => DiskFault;
  /** Drops what was appended and not synced. */
  powerCut(): void;
  /** The number of write operations so far. */
  operations(): number;
}

/** The disk of a process that may die: after that, nothing is written, and no write resolves. */
export function mortalDisk(disk: LedgerDisk, isDead: () => boolean): LedgerDisk {
  const whileAlive = <T>(work: () => Promise<T>): Promise<T> => (isDead() ? new Promise(() => undefined) : work());
  return {
    ...disk,
    create: (name, bytes) =>
      whileAlive(async () => {
        const file = await disk.create(name, bytes);
        return {
          append: (more) => whileAlive(() => file.append(more)),
          sync: () => whileAlive(() => file.sync()),
          close: () => whileAlive(() => file.close()),
        };
      }),
    remove: (name) => whileAlive(() => disk.remove(name)),
  };
}

export function newMemoryDisk(): MemoryDisk {
  const files = new Map<string, Uint8Array>();
  const synced = new Map<string, Uint8Array>();
  let operations = 0;

  async function write(work: (part: number) => void): Promise<void> {
    const fault = disk.fault(operations);
    operations += 1;
    await Promise.resolve();
    if (fault === null) return work(1);
    if (fault === 'lost') work(1);
    if (fault === 'torn') work(0.5);
    throw new Error(`the disk failed: ${fault}`);
  }

  const appendTo = (name: string, bytes: Uint8Array, part: number): void => {
    const before = files.get(name) ?? new Uint8Array();
    files.set(name, Buffer.concat([before, bytes.subarray(0, Math.floor(bytes.length * part))]));
  };

  const fileOf = (name: string): LedgerFile => ({
    append: (bytes) => write((part) => appendTo(name, bytes, part)),
    sync: () => write((part) => void (part === 1 && synced.set(name, files.get(name) ?? new Uint8Array()))),
    close: () => Promise.resolve(),
  });

  const disk: MemoryDisk = {
    files,
    fault: () => null,
    operations: () => operations,
    powerCut() {
      for (const name of files.keys()) files.set(name, synced.get(name) ?? new Uint8Array());
    },
    names: () => Promise.resolve([...files.keys()]),
    read: (name) => Promise.resolve(files.get(name) ?? new Uint8Array()),
    async create(name, bytes) {
      // A new file replaces the old one atomically.
      await write((part) => {
        files.set(part === 1 ? name : `${name}.tmp`, part === 1 ? bytes : bytes.subarray(0, bytes.length / 2));
        if (part === 1) synced.set(name, bytes);
      });
      return fileOf(name);
    },
    async rename(from, to) {
      let done = false;
      await write((part) => {
        const bytes = files.get(from);
        if (bytes === undefined || part < 1) return;
        files.delete(from);
        files.set(to, bytes);
        synced.set(to, synced.get(from) ?? new Uint8Array());
        done = true;
      });
      return done;
    },
    remove: (name) => write((part) => void (part === 1 && files.delete(name))),
  };
  return disk;
}

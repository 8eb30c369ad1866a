// Epochs: the numbers that fence leases. Each grant gets one that no grant before it had, whichever engine made it, so
// that a bridge which was away for long cannot be taken for the one that has its work now. They are no facts of any
// session, and are in no stream: what happened is decided by what is recorded, epochs only decide who may report.
// They are put aside in blocks, durably, before the first of a block is given out; a crash wastes the rest of one.
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EPOCHS_RESERVED } from '../../schemas/limits.ts';
import { syncDirectory } from '../files/directories.ts';

export interface EpochStore {
  /** The first of so many epochs that nobody was or will be given; throws when that could not be made sure of. */
  reserve(count: number): Promise<number>;
}

export interface Epochs {
  /** The first that this engine may give: whoever names an earlier one had it from an engine before. */
  readonly first: number;
  /** The next one; null while no more could be put aside. */
  next(): number | null;
  /** Answers when nothing is being put aside: then another engine may begin. */
  close(): Promise<void>;
}

/** Epochs from a store. Throws when there are none to begin with. */
export async function openEpochs(store: EpochStore, block: number = EPOCHS_RESERVED): Promise<Epochs> {
  const first = await store.reserve(block);
  let next = first;
  let end = first + block;
  /** The block after this one, once it is put aside. */
  let after: number | null = null;
  let asking: Promise<void> | null = null;

  async function reserve(): Promise<void> {
    try {
      after = await store.reserve(block);
    } catch {
      // Asked again with the next grant.
    } finally {
      asking = null;
    }
  }

  function putAside(): void {
    if (asking !== null || after !== null) return;
    asking = reserve();
  }

  return {
    first,
    next() {
      if (next >= end - block / 2) putAside();
      if (next === end && after !== null) [next, end, after] = [after, after + block, null];
      if (next === end) return null;
      next += 1;
      return next - 1;
    },
    close: async () => {
      await asking;
    },
  };
}

/** Begins anew with each engine: for stores that do not outlive it either. */
export function newMemoryEpochs(): EpochStore {
  let next = 1;
  return {
    reserve: (count) => {
      next += count;
      return Promise.resolve(next - count);
    },
  };
}

/** Keeps the next epoch in a file, which is replaced whole. */
export function openFileEpochs(path: string): EpochStore {
  const read = async (): Promise<number> => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '1\n';
      throw error;
    });
    if (!/^[1-9]\d{0,15}\n$/.test(text))
      throw new Error(`${path} does not hold a number. Stop every bridge, delete that file, and start again`);
    return Number(text);
  };
  return {
    async reserve(count) {
      const first = await read();
      const file = await open(`${path}.tmp`, 'w', 0o600);
      await file
        .writeFile(`${first + count}\n`)
        .then(() => file.sync())
        .finally(() => file.close());
      await rename(`${path}.tmp`, path);
      await syncDirectory(dirname(path));
      return first;
    },
  };
}

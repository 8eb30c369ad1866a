// Epochs: the numbers that fence leases (docs/design.md, law 17). Each grant gets an epoch that no earlier grant had, of
// this engine or another. So a bridge that returns after its lease was lost cannot report in place of the current holder.
// Epochs are not facts of a session and are in no stream: the stream records what happened, epochs only decide which bridge
// may report. They are reserved durably, in blocks, before they are used; after a crash the rest of a block is not used.
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EPOCHS_RESERVED } from '../../../schemas/limits.ts';
import { PUT_BACK, anchorDirectory } from '../../files/anchor.ts';
import { syncDirectory } from '../../files/directories.ts';
import { storageCode } from '../../files/file-failure.ts';

export interface EpochStore {
  /** Reserves `count` epochs that no other call reserves, and returns the first. Throws when it cannot ensure that. */
  reserve(count: number): Promise<number>;
  /** Gives up the files that it holds open. */
  close?(): void;
}

export interface Epochs {
  /** The first epoch that this engine may grant; earlier ones were granted by earlier engines. */
  readonly first: number;
  /** The next epoch; null while no further block can be reserved. */
  next(): number | null;
  /** Resolves once no reservation is running: then another engine may start. */
  close(): Promise<void>;
}

/**
 * Epochs from a store. Throws when the first block cannot be reserved, except on a full disk: then nothing is granted until
 * there is space.
 */
export async function openEpochs(
  store: EpochStore,
  block: number = EPOCHS_RESERVED,
  onFault: (error: unknown) => void = () => undefined,
): Promise<Epochs> {
  let first = Number.MAX_SAFE_INTEGER;
  let [next, end] = [0, 0];
  /** The first epoch of the block after this one, once it is reserved. */
  let after: number | null = null;
  let reserving: Promise<void> | null = null;

  async function reserveBlock(): Promise<void> {
    after = await store.reserve(block);
    first = Math.min(first, after);
  }

  async function reserve(): Promise<void> {
    try {
      await reserveBlock();
    } catch (error) {
      // The next grant tries again.
      onFault(error);
    } finally {
      reserving = null;
    }
  }

  function reserveAhead(): void {
    if (reserving !== null || after !== null) return;
    reserving = reserve();
  }

  await reserveBlock().catch((error: unknown) => {
    if (storageCode(String(error)) !== 'storage_full') throw error;
  });

  return {
    get first() {
      return first;
    },
    next() {
      if (next === end && after !== null) [next, end, after] = [after, after + block, null];
      if (next >= end - block / 2) reserveAhead();
      if (next === end) return null;
      next += 1;
      return next - 1;
    },
    close: async () => {
      await reserving;
      store.close?.();
    },
  };
}

/** Epochs in memory, for engines whose stores are in memory too. They start at 1. */
export function newMemoryEpochs(): EpochStore {
  let next = 1;
  return {
    reserve: (count) => {
      next += count;
      return Promise.resolve(next - count);
    },
  };
}

/** Keeps the next epoch in a file, which is replaced atomically. */
export function openFileEpochs(path: string): EpochStore {
  const anchor = anchorDirectory(dirname(path));
  const read = async (): Promise<number> => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '1\n';
      throw error;
    });
    if (!/^[1-9]\d{0,15}\n$/.test(text))
      throw new Error(`${path} does not contain a number. Stop every bridge, delete that file, and start again`);
    return Number(text);
  };
  return {
    async reserve(count) {
      const lost = anchor.lost();
      if (lost !== null) throw new Error(`${lost}; ${PUT_BACK}`);
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
    close: () => anchor.close(),
  };
}

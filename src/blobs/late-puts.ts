// Puts that are answered before they are written: one after the other, so that they never hold more than one of the
// threads that wait for the disk, and bounded in bytes.
import type { Digest } from '../../schemas/ids.ts';

export interface LatePuts {
  /** Adds a write of so many bytes. Resolves when it has its place: at once, as long as few bytes wait. */
  add(ref: Digest, bytes: number, write: () => Promise<unknown>): Promise<void>;
  /** Resolves when the writes of a blob that were added so far have ended; null when there are none. */
  pending(ref: Digest): Promise<void> | null;
  /** Resolves when every write has ended, whether it succeeded or failed. */
  settled(): Promise<void>;
}

export function newLatePuts(bytesMax: number): LatePuts {
  /** How many writes of each blob have not ended. */
  const pending = new Map<Digest, number>();
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;

  const isFull = (bytes: number): boolean => waiting > 0 && waiting + bytes > bytesMax;

  async function writeAfter(before: Promise<void>, { ref, bytes, write }: Put): Promise<void> {
    await before;
    // A blob that cannot be written is absent, which is what the caller accepted.
    await Promise.allSettled([write()]);
    waiting -= bytes;
    const rest = (pending.get(ref) ?? 1) - 1;
    if (rest === 0) pending.delete(ref);
    else pending.set(ref, rest);
  }

  return {
    async add(ref, bytes, write) {
      while (isFull(bytes)) await last;
      waiting += bytes;
      pending.set(ref, (pending.get(ref) ?? 0) + 1);
      last = writeAfter(last, { ref, bytes, write });
    },
    // Writes are made in order, so that all that come before have ended when the last one has.
    pending: (ref) => (pending.has(ref) ? last : null),
    settled: () => last,
  };
}

interface Put {
  readonly ref: Digest;
  readonly bytes: number;
  readonly write: () => Promise<unknown>;
}

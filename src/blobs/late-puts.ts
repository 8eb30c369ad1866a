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
  const pending = new Map<Digest, Promise<void>>();
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    async add(ref, bytes, write) {
      while (waiting > 0 && waiting + bytes > bytesMax) await last;
      waiting += bytes;
      // A blob that cannot be written is absent, which is what the caller accepted.
      const written = last.then(async () => {
        await Promise.allSettled([write()]);
        waiting -= bytes;
      });
      last = written;
      pending.set(ref, written);
      void written.then(() => {
        if (pending.get(ref) === written) pending.delete(ref);
      });
    },
    pending: (ref) => pending.get(ref) ?? null,
    settled: () => last,
  };
}

// Writes the lines of one ledger: lines added during a write are written together in the next one. After a failed write
// the content of the file is unknown, so the next write replaces the whole file.
import { LEDGER_BYTES_MAX } from '../../schemas/limits.ts';
import type { LedgerDisk, LedgerFile } from './ledger-disk.ts';

export interface LedgerWriter {
  /** Resolves when the line is in the file; with `durable`, when it also survives a power cut. */
  write(text: string, options: WriteOptions): Promise<void>;
  /** Replaces the whole file. */
  rewrite(): Promise<void>;
  /** Waits for pending writes. Lines that are written later, of a call that ends late, leave no file open. */
  close(): Promise<void>;
}

interface WriteOptions {
  readonly durable: boolean;
  /** Called when the write failed, before anything else is written. */
  readonly undo: () => void;
}

interface Waiting extends WriteOptions {
  readonly text: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** `whole`: the complete content of the file, including the lines being written. */
export function newLedgerWriter(disk: LedgerDisk, name: string, whole: () => string): LedgerWriter {
  let waiting: Waiting[] = [];
  let draining: Promise<void> | null = null;
  let file: LedgerFile | null = null;
  let bytes = 0;
  let rewriteAt = 0;
  let closed = false;

  async function abandon(): Promise<void> {
    const old = file;
    file = null;
    await old?.close().catch(() => undefined);
  }

  async function rewrite(): Promise<void> {
    await abandon();
    const all = Buffer.from(whole());
    file = await disk.create(name, all);
    bytes = all.length;
    rewriteAt = Math.max(LEDGER_BYTES_MAX, 2 * bytes);
  }

  async function append(together: readonly Waiting[]): Promise<void> {
    const more = Buffer.from(together.map(({ text }) => text).join(''));
    if (file === null || bytes + more.length > rewriteAt) return await rewrite();
    try {
      await file.append(more);
      bytes += more.length;
      if (together.some(({ durable }) => durable)) await file.sync();
    } catch (error) {
      await abandon();
      throw error;
    }
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const together = waiting;
      waiting = [];
      try {
        await append(together);
        for (const { done } of together) done();
      } catch (error) {
        for (const { undo } of together) undo();
        for (const { failed } of together) failed(error);
      }
    }
    draining = null;
    if (closed) await abandon();
  }

  return {
    write: (text, options) =>
      new Promise((done, failed) => {
        waiting.push({ ...options, text, done, failed });
        draining ??= drain();
      }),
    rewrite,
    async close() {
      closed = true;
      await draining;
      await abandon();
    },
  };
}

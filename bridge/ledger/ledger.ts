// The ledger of one bridge process: which calls that may not be repeated it has started, and how they ended, until the
// engine has given its last word on them. It is no second truth: the engine's log decides what happened. It only lets
// the process that comes after this one report at once what this one could not, instead of letting it be lost.
import type { Ingress } from '../../schemas/event.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { LEDGER_BYTES_MAX } from '../../schemas/limits.ts';
import type { LedgerDisk, LedgerFile } from './ledger-disk.ts';
import { type LedgerEntries, type LedgerKey, type StartedCall, addLine, linesOf, nameOf } from './ledger-entries.ts';
import { type LedgerLine, lineText } from './ledger-line.ts';

export interface Ledger {
  /** Durable when it answers: the call may run now. Throws when it could not be noted; then the call may not. */
  started(call: StartedCall): Promise<void>;
  /** Notes a settlement that is on its way to the engine. Answers whether that is durable; never throws. */
  ended(call: LedgerKey, event: Ingress): Promise<boolean>;
  /** The engine has given its last word on the call. */
  closed(call: LedgerKey): void;
  /** Leaves nothing behind when nothing is open. */
  close(): Promise<void>;
}

interface Waiting {
  readonly text: string;
  readonly durable: boolean;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Begins a ledger in a new file. Throws when there cannot be one. */
export async function openLedger(disk: LedgerDisk, name: string, owner: OwnerId): Promise<Ledger> {
  const entries: LedgerEntries = new Map();
  let waiting: Waiting[] = [];
  let draining: Promise<void> | null = null;
  /** Null after a write that failed: nobody knows what is in the file, so it is written anew. */
  let file: LedgerFile | null = null;
  let bytes = 0;
  let rewriteAt = 0;

  async function rewrite(): Promise<void> {
    await abandon();
    const lines: readonly LedgerLine[] = [{ kind: 'opened', owner }, ...linesOf(entries)];
    const whole = Buffer.from(lines.map((line) => lineText(line) ?? '').join(''));
    file = await disk.create(name, whole);
    bytes = whole.length;
    rewriteAt = Math.max(LEDGER_BYTES_MAX, 2 * bytes);
  }

  async function abandon(): Promise<void> {
    const old = file;
    file = null;
    await old?.close().catch(() => undefined);
  }

  async function write(together: readonly Waiting[]): Promise<void> {
    const more = Buffer.from(together.map(({ text }) => text).join(''));
    // The entries hold these lines already, so that writing the file anew writes them as well.
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

  // What is noted while a write is under way travels together in the next one.
  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const together = waiting;
      waiting = [];
      try {
        await write(together);
        for (const { done } of together) done();
      } catch (error) {
        for (const { failed } of together) failed(error);
      }
    }
    draining = null;
  }

  function note(line: LedgerLine, durable: boolean): Promise<void> {
    const text = lineText(line);
    if (text === null) return Promise.reject(new Error('the line is too long for a ledger'));
    addLine(entries, line);
    return new Promise((done, reject) => {
      const failed = (error: unknown): void => {
        // A call whose start could not be noted does not run, and is not in the file when that is written anew.
        if (line.kind === 'started') entries.delete(nameOf(line));
        reject(error);
      };
      waiting.push({ text, durable, done, failed });
      draining ??= drain();
    });
  }

  await rewrite();
  return {
    started: (call) => note({ kind: 'started', ...call }, true),
    ended: ({ session_id, effect_id }, event) =>
      note({ kind: 'ended', session_id, effect_id, event }, true).then(
        () => true,
        () => false,
      ),
    closed({ session_id, effect_id }) {
      // One that does not reach the disk is reported once more by the next process, which changes nothing.
      if (entries.has(nameOf({ session_id, effect_id }))) {
        note({ kind: 'closed', session_id, effect_id }, false).catch(() => undefined);
      }
    },
    async close() {
      await draining;
      await abandon();
      if (entries.size === 0) await disk.remove(name);
    },
  };
}

/** The ledger of a bridge that has no place to keep one: whatever it had in hand is lost with it. */
export const noLedger: Ledger = {
  started: () => Promise.resolve(),
  ended: () => Promise.resolve(false),
  closed: () => undefined,
  close: () => Promise.resolve(),
};

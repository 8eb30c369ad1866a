// The ledger of one bridge process: which calls that may not be repeated it has started, and how they ended, until the
// engine has given its last word on them. It is no second truth: the engine's log decides what happened. It only lets
// the process that comes after this one report at once what this one could not, instead of letting it be lost.
import type { Ingress } from '../../schemas/event.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import type { LedgerDisk } from './ledger-disk.ts';
import { type LedgerEntries, type LedgerKey, type StartedCall, addLine, linesOf, nameOf } from './ledger-entries.ts';
import { type LedgerLine, lineText } from './ledger-line.ts';
import { newLedgerWriter } from './ledger-writer.ts';

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

/** Begins a ledger in a new file. Throws when there cannot be one. */
export async function openLedger(disk: LedgerDisk, name: string, owner: OwnerId): Promise<Ledger> {
  const entries: LedgerEntries = new Map();
  const writer = newLedgerWriter(disk, name, () => {
    const lines: readonly LedgerLine[] = [{ kind: 'opened', owner }, ...linesOf(entries)];
    return lines.map((line) => lineText(line) ?? '').join('');
  });

  async function note(line: LedgerLine, durable: boolean): Promise<void> {
    const text = lineText(line);
    if (text === null) throw new Error('the line is too long for a ledger');
    addLine(entries, line);
    // A call whose start could not be noted does not run, so it is not open.
    const undo = (): void => void (line.kind === 'started' && entries.delete(nameOf(line)));
    await writer.write(text, { durable, undo });
  }

  await writer.rewrite();
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
      await writer.close();
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

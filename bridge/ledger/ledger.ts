// The ledger of one bridge process: the calls it has started that must not be repeated, and how they ended, until the
// engine has given its final answer. The engine's log alone decides what happened; the ledger only lets the next process
// report what this one could not.
import type { Ingress } from '../../schemas/event.ts';
import type { OwnerId } from '../../schemas/ids.ts';
import { LEDGER_LINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { LedgerDisk } from './ledger-disk.ts';
import {
  type LedgerEntries,
  type LedgerKey,
  type StartedCall,
  addLine,
  ledgerLinesOf,
  entryKeyOf,
} from './ledger-entries.ts';
import { type LedgerLine, lineText } from './ledger-line.ts';
import { newLedgerWriter } from './ledger-writer.ts';

export interface Ledger {
  /** Resolves when the start is durable: the call may run. Throws when it could not be written: the call must not run. */
  started(call: StartedCall): Promise<void>;
  /** Notes a settlement while it is sent to the engine. Resolves to whether the note is durable; never rejects. */
  ended(call: LedgerKey & Pick<StartedCall, 'epoch'>, event: Ingress): Promise<boolean>;
  /** The engine has given its final answer to the settlement of the call. */
  closed(call: LedgerKey): void;
  /** Removes the file when no call is open. */
  close(): Promise<void>;
}

/** Creates a ledger in a new file. Throws when that fails. */
export async function openLedger(disk: LedgerDisk, name: string, owner: OwnerId): Promise<Ledger> {
  const entries: LedgerEntries = new Map();
  const writer = newLedgerWriter(disk, name, () => {
    const lines: readonly LedgerLine[] = [{ kind: 'opened', owner }, ...ledgerLinesOf(entries)];
    return lines.map((line) => lineText(line) ?? '').join('');
  });

  async function note(line: LedgerLine, durable: boolean): Promise<void> {
    const text = lineText(line);
    if (text === null) throw new Error(`a ledger line must not exceed ${LEDGER_LINE_CHARS_MAX} characters`);
    addLine(entries, line);
    // A call whose start could not be written does not run, so it is not open.
    const undo = (): void => void (line.kind === 'started' && entries.delete(entryKeyOf(line)));
    await writer.write(text, { durable, undo });
  }

  await writer.rewrite();
  return {
    started: (call) => note({ kind: 'started', ...call }, true),
    ended: ({ session_id, effect_id, epoch }, event) =>
      note({ kind: 'ended', session_id, effect_id, event, ...(epoch === undefined ? {} : { epoch }) }, true).then(
        () => true,
        () => false,
      ),
    closed({ session_id, effect_id }) {
      // If this line is lost, the next process reports the call again, which changes nothing.
      if (entries.has(entryKeyOf({ session_id, effect_id }))) {
        note({ kind: 'closed', session_id, effect_id }, false).catch(() => undefined);
      }
    },
    async close() {
      await writer.close();
      if (entries.size === 0) await disk.remove(name);
    },
  };
}

/** For a bridge without a state directory: when it dies, the outcome of its calls in progress is lost. */
export const noLedger: Ledger = {
  started: () => Promise.resolve(),
  ended: () => Promise.resolve(false),
  closed: () => undefined,
  close: () => Promise.resolve(),
};

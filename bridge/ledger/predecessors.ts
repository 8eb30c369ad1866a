// Claims the ledgers of dead bridges. Renaming such a file claims it for one process. If that process dies before it
// has reported everything, the file carries its tag, and the next process claims it in turn.
import type { OwnerId } from '../../schemas/ids.ts';
import { LEDGERS_CLAIMED_MAX } from '../../schemas/limits.ts';
import { type LedgerDisk, UNFINISHED } from './ledger-disk.ts';
import { type LedgerEntry, entriesOf } from './ledger-entries.ts';
import { readLines } from './ledger-line.ts';

/** A bridge that died, as known from its ledger. */
export interface Predecessor {
  /** The name under which it leased. */
  readonly owner: OwnerId;
  /** The calls that it had started and not reported. */
  readonly entries: readonly LedgerEntry[];
  /** The name of its file, claimed by this process. */
  readonly file: string;
}

/** The file name of a ledger: which one, and the tag of the process that holds it. */
export const ledgerName = (which: string, tag: string): string => `${which}@${tag}.ledger`;

interface ClaimOptions {
  /** The tag of this process. */
  readonly tag: string;
  readonly isAlive: (tag: string) => boolean;
}

/** Claims the ledgers of processes that have ended. */
export async function claimLedgers(disk: LedgerDisk, { tag, isAlive }: ClaimOptions): Promise<readonly Predecessor[]> {
  const claimed: Predecessor[] = [];
  for (const name of (await disk.names()).toSorted()) {
    const [, which, holder = '', rest] = /^([^@]+)@([^@]+)\.ledger(\.tmp)?$/.exec(name) ?? [];
    if (which === undefined || holder === tag || isAlive(holder)) continue;
    if (rest === UNFINISHED) {
      await disk.remove(name);
      continue;
    }
    if (claimed.length === LEDGERS_CLAIMED_MAX) break;
    const file = ledgerName(which, tag);
    if (!(await disk.rename(name, file))) continue;
    const predecessor = readLedger(file, await disk.read(file));
    if (predecessor === null) await disk.remove(file);
    else claimed.push(predecessor);
  }
  return claimed;
}

/** Null when the owner cannot be read: then nothing can be reported for it. */
function readLedger(file: string, bytes: Uint8Array): Predecessor | null {
  const lines = readLines(bytes);
  const opened = lines.find((line) => line.kind === 'opened');
  return opened === undefined ? null : { file, owner: opened.owner, entries: [...entriesOf(lines).values()] };
}

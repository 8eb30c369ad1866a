// The ledgers of a bridge process: its own, and those it has claimed from dead processes.
import type { OwnerId } from '../../schemas/ids.ts';
import type { LedgerDisk } from './ledger-disk.ts';
import { type LedgerEntry, type StartedCall, entryKeyOf } from './ledger-entries.ts';
import { type Ledger, noLedger, openLedger } from './ledger.ts';
import { type Predecessor, claimLedgers, ledgerName } from './predecessors.ts';

export interface BridgeLedger extends Ledger {
  /** The dead bridges whose ledgers this one has claimed. */
  readonly predecessors: readonly Predecessor[];
  /** What a predecessor noted of this call; null when none of them started it. */
  find(call: StartedCall): LedgerEntry | null;
  /** Everything that this predecessor left open has been reported: removes its ledger. */
  forget(predecessor: Predecessor): Promise<void>;
}

interface BridgeLedgerOptions {
  readonly owner: OwnerId;
  /** Distinguishes this ledger from others; letters and digits. */
  readonly nonce: string;
  /** The tag of this process. */
  readonly tag: string;
  readonly isAlive: (tag: string) => boolean;
}

/** Claims the ledgers of dead processes, and creates this process's own. Throws when that fails. */
export async function openBridgeLedger(
  disk: LedgerDisk,
  { owner, nonce, tag, isAlive }: BridgeLedgerOptions,
): Promise<BridgeLedger> {
  const predecessors = await claimLedgers(disk, { tag, isAlive });
  const own = await openLedger(disk, ledgerName(nonce, tag), owner);
  const known = new Map(predecessors.flatMap(({ entries }) => entries.map((entry) => [entryKeyOf(entry), entry])));
  return {
    ...own,
    predecessors,
    find(call) {
      const entry = known.get(entryKeyOf(call));
      return entry?.plan_hash === call.plan_hash ? entry : null;
    },
    forget: ({ file }) => disk.remove(file),
  };
}

/** For a bridge without a state directory. */
export const noBridgeLedger: BridgeLedger = {
  ...noLedger,
  predecessors: [],
  find: () => null,
  forget: () => Promise.resolve(),
};

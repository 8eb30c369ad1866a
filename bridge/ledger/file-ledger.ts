// The ledger of this process, in a directory that the bridges of one workspace share.
import { randomUUID } from 'node:crypto';
import type { OwnerId } from '../../schemas/ids.ts';
import { type BridgeLedger, openBridgeLedger } from './bridge-ledger.ts';
import { type LedgerDiskOptions, openLedgerDirectory } from './ledger-disk.ts';
import { addOwnPlace } from '../../src/files/own-places.ts';
import { isAlive, processTagOf } from '../../src/files/process-tag.ts';

/**
 * Opens a ledger in a directory, which is created when it is missing. The bridge notes there what it starts; when it dies,
 * the next bridge that opens the directory reports what was noted. Close the ledger after the bridge has ended. Throws when
 * the directory cannot be used. Give `synced: false` where the engine's journal lies on the same disk: that has each start on
 * record before the call runs, and a restored backup of the one restores the other.
 */
export async function openFileLedger(
  directory: string,
  owner: OwnerId,
  options: LedgerDiskOptions = {},
): Promise<BridgeLedger> {
  addOwnPlace(directory);
  const disk = await openLedgerDirectory(directory, options);
  const nonce = randomUUID().replaceAll('-', '');
  try {
    const ledger = await openBridgeLedger(disk, { owner, nonce, tag: processTagOf(process.pid), isAlive });
    const close = (): Promise<void> => ledger.close().finally(() => disk.close());
    return { ...ledger, close };
  } catch (error) {
    disk.close();
    throw error;
  }
}

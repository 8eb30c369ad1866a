// The ledger of this process in a directory of the machine, which bridges of one workspace share.
import { randomUUID } from 'node:crypto';
import type { OwnerId } from '../../schemas/ids.ts';
import { type BridgeLedger, openBridgeLedger } from './bridge-ledger.ts';
import { openLedgerDirectory } from './ledger-disk.ts';
import { isAlive, tagOf } from '../../src/files/process-tag.ts';

/**
 * Opens a ledger in a directory, made where it is missing: what this bridge starts is noted there, and what bridges that
 * died had noted is told by the next one that opens it. Close it once the bridge has ended. Throws when that cannot be done.
 */
export async function openFileLedger(directory: string, owner: OwnerId): Promise<BridgeLedger> {
  const disk = await openLedgerDirectory(directory);
  const nonce = randomUUID().replaceAll('-', '');
  return await openBridgeLedger(disk, { owner, nonce, tag: tagOf(process.pid), isAlive });
}

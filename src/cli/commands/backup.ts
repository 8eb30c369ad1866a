// `refold backup`: a whole copy of a data directory, made beside a live engine and verified before it gets its name.
import { Buffer } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Digest } from '../../../schemas/ids.ts';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import type { EngineClient } from '../../client/client.ts';
import { FollowRefused } from '../../client/follow-refused.ts';
import { must } from '../../client/must.ts';
import { RejectedError } from '../../client/rejected-error.ts';
import { codeOf } from '../../files/file-failure.ts';
import { newLevelCopy } from '../../journal/level/level-copy.ts';
import { verifyCopy } from '../audit/verify-copy.ts';
import { journalOf, requireData } from '../data-dir.ts';
import type { Output } from '../output.ts';
import { beginDirectory, refuseInside, tellFull } from '../unfinished-directory.ts';
import { withEngine } from '../with-engine.ts';

export interface BackupCommand {
  readonly dataDir: string;
  readonly target: string;
}

export async function backupCommand({ dataDir, target }: BackupCommand, output: Output): Promise<number> {
  await requireData(dataDir);
  await refuseInside(dataDir, target);
  return await tellFull(target, () => makeBackup({ dataDir, target }, output));
}

async function makeBackup({ dataDir, target }: BackupCommand, output: Output): Promise<number> {
  const unfinished = await beginDirectory(target);
  const { directory } = unfinished;
  const counts = await withEngine(dataDir, (client) => copyAll(client, directory, output));
  await writeEpochs(dataDir, directory);
  output.line(`copied ${counts.entries} entries and ${counts.blobs} blobs; verifying ${directory}`);
  const { code, isKept, damaged } = await verifyCopy(directory, dataDir, output);
  if (!isKept) {
    output.line(`the backup does not verify; it stays at ${directory} and is not complete`);
    return code;
  }
  await unfinished.finish();
  output.object({ event: 'backup', target, ...counts, damaged });
  output.line(`backup of ${dataDir} in ${target}`);
  return code;
}

interface Counts {
  readonly entries: number;
  readonly blobs: number;
}

async function copyAll(client: EngineClient, directory: string, output: Output): Promise<Counts> {
  const copy = await newLevelCopy(journalOf(directory));
  const blobs = await must(openFileBlobs(join(directory, 'blobs')));
  const counts = { entries: 0, blobs: 0 };
  try {
    for await (const part of client.backup()) {
      if (part.entries !== undefined) {
        await copy.add(part.entries.map(({ key, value }) => ({ key: decoded(key), value: decoded(value) })));
        counts.entries += part.entries.length;
      }
      for (const ref of part.blobs ?? []) if (await copyBlob(ref)) counts.blobs += 1;
      output.note(`copied ${counts.entries} entries and ${counts.blobs} blobs`);
    }
  } catch (error) {
    throw error instanceof FollowRefused ? new RejectedError(error.rejection) : error;
  } finally {
    output.note('');
    await blobs.close();
    await copy.close();
  }
  return counts;

  /** A blob that cannot be read is left out and named; whether a session needs it is verified at the end. */
  async function copyBlob(ref: Digest): Promise<boolean> {
    const bytes = await client.getBlob(ref)();
    if (isLeft(bytes)) {
      output.line(`not copied: ${bytes.left.message}`);
      return false;
    }
    await must(blobs.put(bytes.right));
    return true;
  }
}

const decoded = (base64: string): Uint8Array => Buffer.from(base64, 'base64');

/**
 * The next epoch of a copy. Epochs that the original grants after the copy was made must not be granted again, so they
 * continue at the present time in milliseconds, which no engine reaches by counting.
 */
export async function writeEpochs(from: string, to: string): Promise<void> {
  const text = await readFile(join(from, 'epochs'), 'utf8').catch((error: unknown) => {
    // A directory whose engine has granted nothing has none. One that cannot be read may name a later epoch than the clock.
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  const next = Math.max(Number(/^\d{1,16}/.exec(text)?.[0] ?? 1), Date.now());
  await writeFile(join(to, 'epochs'), `${next}\n`, { mode: 0o600, flush: true });
}

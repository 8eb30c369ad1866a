// `refold export` and `refold import`: a session as a file of JSON Lines, and back.
import { type WriteStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import pc from 'picocolors';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionSummary } from '../../../schemas/wire.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import { contentRefs } from '../../core/content-refs.ts';
import { importStream } from '../../engine/import-stream.ts';
import { openLevelJournal } from '../../journal/level-journal.ts';
import { journalOf, makeDataDir } from '../data-dir.ts';
import { findEngine, namingHolder } from '../engine-address.ts';
import { withEngine } from '../with-engine.ts';
import { cannotWrite } from '../files.ts';
import { must, mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { readSession, readStreamFile } from '../stream-file.ts';

export interface ExportCommand {
  readonly dataDir: string;
  readonly id: SessionId;
  /** A file; standard output when absent. */
  readonly file?: string;
}

export async function exportCommand({ dataDir, id, file }: ExportCommand, output: Output): Promise<number> {
  const target: WriteStream | NodeJS.WriteStream =
    file === undefined ? process.stdout : createWriteStream(file, { flags: 'wx' });
  const failed = new Promise<never>((_, fail) => {
    target.once('error', (error) => fail(cannotWrite(file ?? 'the output', error)));
  });
  const drained = (): Promise<void> => new Promise((resolve) => target.once('drain', () => resolve()));
  const write = (text: string): Promise<void> | null => (target.write(text) ? null : Promise.race([failed, drained()]));
  const work = withEngine(dataDir, async (client) => {
    let records = 0;
    for await (const record of readSession(client, id)) {
      await write(`${canonicalText(record)}\n`);
      records += 1;
    }
    return records;
  });
  const opened = new Promise<boolean>((settle) => {
    target.once('open', () => settle(true)).once('error', () => settle(false));
  });
  const written = async (): Promise<number> => {
    const count = await Promise.race([failed, work]);
    if (file === undefined) return count;
    target.end();
    await Promise.race([failed, finished(target as WriteStream)]);
    return count;
  };
  const records = await written().catch(async (error: unknown) => {
    // Half of a session reads like a whole one that is shorter.
    if (file !== undefined && (await opened)) await rm(file, { force: true });
    throw error;
  });
  if (file === undefined) return 0;
  output.object({ session_id: id, file, records });
  output.line(`${records} records of ${id} written to ${file}`);
  return 0;
}

export async function importCommand(dataDir: string, file: string, output: Output): Promise<number> {
  if ((await findEngine(dataDir)) !== null) {
    throw new CommandFailure('engine_running', `an engine has ${dataDir} open. Stop it, import, and start it again.`);
  }
  const refs = new Set<Digest>();
  const records = readStreamFile(file);
  // Before anything is made: the name of the file may be mistyped.
  const first = await records.next();
  await makeDataDir(dataDir);
  const journal = mustBe(await namingHolder(dataDir, await openLevelJournal(journalOf(dataDir))()));
  try {
    const blobs = await must(openFileBlobs(join(dataDir, 'blobs')));
    try {
      const imported = takenIn(await importStream({ journal, blobs }, notingRefs(first, records, refs)), file);
      const missing = await countMissing(blobs, refs);
      output.object({ ...imported, blobs: { referred: refs.size, missing } });
      output.line(`${imported.session_id}: ${imported.version} events, every digest verified`);
      if (missing > 0) output.line(describeMissing(dataDir, imported.session_id, { missing, of: refs.size }));
    } finally {
      await blobs.close();
    }
  } finally {
    await journal.close();
  }
  return 0;
}

/** The records of a file whose first one was read already; notes the blobs that its events refer to. */
async function* notingRefs(
  first: IteratorResult<StreamRecord, unknown>,
  rest: AsyncIterable<StreamRecord>,
  refs: Set<Digest>,
): AsyncGenerator<StreamRecord> {
  const noted = (record: StreamRecord): StreamRecord => {
    if (record.kind === 'event') for (const { ref } of contentRefs(record.event)) refs.add(ref);
    return record;
  };
  if (first.done === true) return;
  yield noted(first.value);
  for await (const record of rest) yield noted(record);
}

/** How many blobs of these are not in the store: an export holds none. */
async function countMissing(blobs: Blobs, refs: ReadonlySet<Digest>): Promise<number> {
  let missing = 0;
  for (const ref of refs) if (!(await must(blobs.has(ref)))) missing += 1;
  return missing;
}

const describeMissing = (dataDir: string, id: SessionId, { missing, of }: { missing: number; of: number }): string =>
  pc.yellow(`${missing} of the ${of} blobs that it refers to are not here, because an export holds none. `) +
  `Copy blobs/ of the data directory that it is from into ${dataDir}, and look: refold verify ${id} --data-dir ${dataDir}`;

/** What was imported; a file that does not verify is what was checked, and is wrong. */
function takenIn(imported: Either<Rejection, SessionSummary>, file: string): SessionSummary {
  // What is damaged may be the session of the data directory, too: that has no position of the file.
  const isOfFile = isLeft(imported) && imported.left.code === 'damaged' && imported.left.message.startsWith('position');
  if (!isOfFile) return mustBe(imported);
  throw new CommandFailure('damaged', `${file}, ${imported.left.message}. Look closer: refold verify ${file}`, 1);
}

// `refold export` and `refold import`: a session as a file of JSON Lines, and back.
import { type WriteStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionSummary } from '../../../schemas/wire.ts';
import { importStream } from '../../engine/import-stream.ts';
import { openLevelJournal } from '../../journal/level-journal.ts';
import { journalOf, makeDataDir } from '../data-dir.ts';
import { findEngine, namingHolder } from '../engine-address.ts';
import { withEngine } from '../with-engine.ts';
import { cannotWrite } from '../files.ts';
import { mustBe } from '../must.ts';
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
  await makeDataDir(dataDir);
  const journal = mustBe(await namingHolder(dataDir, await openLevelJournal(journalOf(dataDir))()));
  try {
    const imported = takenIn(await importStream(journal, readStreamFile(file)), file);
    output.object(imported);
    output.line(`${imported.session_id}: ${imported.version} events, every digest verified`);
  } finally {
    await journal.close();
  }
  return 0;
}

/** What was imported; a file that does not verify is what was checked, and is wrong. */
function takenIn(imported: Either<Rejection, SessionSummary>, file: string): SessionSummary {
  // What is damaged may be the session of the data directory, too: that has no position of the file.
  const isOfFile = isLeft(imported) && imported.left.code === 'damaged' && imported.left.message.startsWith('position');
  if (!isOfFile) return mustBe(imported);
  throw new CommandFailure('damaged', `${file}, ${imported.left.message}. Look closer: refold verify ${file}`, 1);
}

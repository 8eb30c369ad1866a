// `refold import`: stores an exported session in a data directory.
import { join } from 'node:path';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { paint } from '../../shown/paint.ts';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { Rejection, RejectionCode } from '../../../schemas/rejection.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import { contentRefs, responseRef } from '../../core/content-refs.ts';
import { blobsWithPages } from '../../engine/blobs-with-pages.ts';
import { type Imported, importStream } from '../../engine/sessions/import-stream.ts';
import { openLevelJournal } from '../../journal/level-journal.ts';
import { journalOf, makeDataDir } from '../data-dir.ts';
import { findEngine, namingHolder } from '../engine-address.ts';
import { must, mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { readStreamFile } from '../stream-file.ts';

export interface ImportCommand {
  readonly dataDir: string;
  readonly file: string;
  /** Nothing is recorded after the stream. */
  readonly asRecorded: boolean;
  readonly now: () => number;
}

export async function importCommand(
  { dataDir, file, asRecorded, now }: ImportCommand,
  output: Output,
): Promise<number> {
  if ((await findEngine(dataDir)) !== null) {
    throw new CommandFailure(
      'engine_running',
      `an engine has ${dataDir} open. Stop the engine, run the import, then start it again.`,
    );
  }
  const refs = new Set<Digest>();
  const responses = new Set<Digest>();
  const records = readStreamFile(file);
  // Read before anything is created: the name of the file may be mistyped.
  const first = await records.next();
  await makeDataDir(dataDir);
  const journal = mustBe(await namingHolder(dataDir, await openLevelJournal(journalOf(dataDir))()));
  try {
    const blobs = await must(openFileBlobs(join(dataDir, 'blobs')));
    try {
      const ports = { journal, blobs: blobsWithPages(blobs, journal), own_facts_at_ms: asRecorded ? null : now() };
      const imported = importedOrThrow(
        await importStream(ports, notingRefs(first, records, { refs, responses })),
        file,
      );
      const missing = await countMissing(ports.blobs, refs);
      const evidence = { named: responses.size, absent: await countMissing(blobs, responses) };
      const ofResponses = responses.size === 0 ? {} : { responses: evidence };
      output.object({ ...imported, blobs: { referred: refs.size, missing }, ...ofResponses });
      output.line(`${imported.session_id}: ${imported.version - imported.own_facts} events, every digest verified`);
      if (imported.continued)
        output.line('continued the copy that an import of this file, which was cut off, had begun');
      output.line(describeEnd(imported, asRecorded));
      if (missing > 0) output.line(describeMissing(dataDir, imported.session_id, { missing, of: refs.size }));
    } finally {
      await blobs.close();
    }
  } finally {
    await journal.close();
  }
  return 0;
}

/** All records of a file whose first record has been read; collects the blobs that its events refer to, and the responses that they name. */
async function* notingRefs(
  first: IteratorResult<StreamRecord, unknown>,
  rest: AsyncIterable<StreamRecord>,
  { refs, responses }: { readonly refs: Set<Digest>; readonly responses: Set<Digest> },
): AsyncGenerator<StreamRecord> {
  const noted = (record: StreamRecord): StreamRecord => {
    const events = record.kind === 'commit' ? record.events : [];
    for (const event of events) {
      for (const { ref } of contentRefs(event)) refs.add(ref);
      const response = responseRef(upcast(event));
      if (response !== null) responses.add(response.ref);
    }
    return record;
  };
  if (first.done === true) return;
  yield noted(first.value);
  for await (const record of rest) yield noted(record);
}

/** What holds of the session from here on. */
function describeEnd({ session_id, own_facts }: Imported, asRecorded: boolean): string {
  if (asRecorded) {
    return paint.yellow(
      'as recorded: its run, its approvals and its grants count here, and a bridge continues with them. ' +
        'Do this with your own sessions only, and only where the engine that recorded it no longer runs.',
    );
  }
  if (own_facts === 0) return 'nothing was added: no run was active, and nothing was allowed that asks here';
  return (
    `added ${own_facts} events of its own: a run that was active is paused, no call that was owed is made, and grants and ` +
    `approvals ended. To see them: refold show ${session_id}; to go on: refold resume ${session_id}`
  );
}

/** How many of these blobs are not in the store. An export holds no blobs. */
async function countMissing(blobs: Blobs, refs: ReadonlySet<Digest>): Promise<number> {
  let missing = 0;
  for (const ref of refs) if (!(await must(blobs.has(ref)))) missing += 1;
  return missing;
}

const describeMissing = (dataDir: string, id: SessionId, { missing, of }: { missing: number; of: number }): string =>
  paint.yellow(`${missing} of the ${of} blobs that it refers to are missing, because an export holds no blobs. `) +
  `Copy blobs/ from the source data directory into ${dataDir}, then check: refold verify ${id} --data-dir ${dataDir}`;

/** The imported session. A file that does not verify ends the command with exit code 1: the file was checked. */
function importedOrThrow(imported: Either<Rejection, Imported>, file: string): Imported {
  // `damaged` may also refer to the data directory; that message names no position of the file.
  const isOfFile = isLeft(imported) && OF_FILE.has(imported.left.code) && imported.left.message.startsWith('position');
  if (!isOfFile) return mustBe(imported);
  throw new CommandFailure(
    imported.left.code,
    `${file}, ${imported.left.message}. For details: refold verify ${file}`,
    1,
  );
}

const OF_FILE: ReadonlySet<RejectionCode> = new Set<RejectionCode>(['damaged', 'measured_wrong', 'too_large']);

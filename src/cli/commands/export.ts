// `refold export`: a session as a file of JSON Lines.
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { upcast } from '../../../schemas/upcast.ts';
import type { EngineClient } from '../../client/client.ts';
import { responseRef } from '../../core/content-refs.ts';
import { withEngine } from '../with-engine.ts';
import { cannotWrite } from '../files.ts';
import type { Output } from '../output.ts';
import { readSession } from '../stream-file.ts';

export interface ExportCommand {
  readonly dataDir: string;
  readonly id: SessionId;
  /** A new file; standard output when absent. */
  readonly file?: string;
}

export async function exportCommand({ dataDir, id, file }: ExportCommand, output: Output): Promise<number> {
  const target: NodeJS.WritableStream = file === undefined ? output.stdout : createWriteStream(file, { flags: 'wx' });
  const failed = new Promise<never>((_, fail) => {
    target.once('error', (error: unknown) => fail(cannotWrite(file ?? 'the output', error)));
  });
  const drained = (): Promise<void> => new Promise((resolve) => target.once('drain', () => resolve()));
  const write = (text: string): Promise<void> | null => (target.write(text) ? null : Promise.race([failed, drained()]));
  const work = withEngine(dataDir, async (client) => {
    const responses = new Set<Digest>();
    let records = 0;
    for await (const record of readSession(client, id)) {
      await write(`${canonicalText(record)}\n`);
      for (const ref of responsesIn(record)) responses.add(ref);
      records += 1;
    }
    return { records, named: responses.size, absent: file === undefined ? 0 : await countAbsent(client, responses) };
  });
  const opened = new Promise<boolean>((settle) => {
    target.once('open', () => settle(true)).once('error', () => settle(false));
  });
  const written = async (): Promise<Exported> => {
    const count = await Promise.race([failed, work]);
    if (file === undefined) return count;
    target.end();
    await Promise.race([failed, finished(target)]);
    return count;
  };
  const { records, named, absent } = await written().catch(async (error: unknown) => {
    // The engine must be closed before the command ends.
    await work.catch(() => undefined);
    // A partial file must not remain: it reads like a complete, shorter session.
    if (file !== undefined && (await opened)) await rm(file, { force: true });
    throw error;
  });
  if (file === undefined) return 0;
  output.object({ session_id: id, file, records, ...(named === 0 ? {} : { responses: { named, absent } }) });
  output.line(`${records} records of ${id} written to ${file}`);
  if (absent > 0) output.line(`${absent} of the ${named} responses of models that they name are absent`);
  return 0;
}

interface Exported {
  readonly records: number;
  /** The responses of models that the events name, and how many of them are not there: evidence may be lost. */
  readonly named: number;
  readonly absent: number;
}

const responsesIn = (record: StreamRecord): readonly Digest[] =>
  record.kind === 'commit' ? record.events.flatMap((event) => responseRef(upcast(event))?.ref ?? []) : [];

async function countAbsent(client: EngineClient, refs: ReadonlySet<Digest>): Promise<number> {
  let absent = 0;
  for (const ref of refs) {
    const bytes = await client.getBlob(ref)();
    if (isLeft(bytes) && bytes.left.code === 'unknown_blob') absent += 1;
  }
  return absent;
}

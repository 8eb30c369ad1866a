// `refold export`: a session as a file of JSON Lines.
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { SessionId } from '../../../schemas/ids.ts';
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
    await Promise.race([failed, finished(target)]);
    return count;
  };
  const records = await written().catch(async (error: unknown) => {
    // The engine must be closed before the command ends.
    await work.catch(() => undefined);
    // A partial file must not remain: it reads like a complete, shorter session.
    if (file !== undefined && (await opened)) await rm(file, { force: true });
    throw error;
  });
  if (file === undefined) return 0;
  output.object({ session_id: id, file, records });
  output.line(`${records} records of ${id} written to ${file}`);
  return 0;
}

// Reads a backup over HTTP: one part of it on each line.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { BackupPart } from '../../schemas/wire.ts';
import { FollowRefused } from './follow-refused.ts';
import type { Transport } from './http-transport.ts';

/** Every part, the last of which is the end. Throws {@link FollowRefused} when the backup breaks off before it. */
export async function* readBackup(transport: Transport, signal?: AbortSignal): AsyncGenerator<BackupPart> {
  const sent = await transport.send({ path: '/v1/backup', signal });
  if (isLeft(sent)) throw new FollowRefused(sent.left);
  const { response, release } = sent.right;
  let ended = false;
  try {
    for await (const line of linesOf(response)) {
      const part = decode(BackupPart, parse(line));
      if (isLeft(part)) throw new FollowRefused(part.left);
      ended = part.right.end !== undefined;
      yield part.right;
    }
  } catch (error) {
    throw error instanceof FollowRefused ? error : new FollowRefused(brokenOff());
  } finally {
    release();
  }
  if (!ended) throw new FollowRefused(brokenOff());
}

const brokenOff = (): Rejection => reject('closing', '', 'the backup broke off before its end; begin it again');

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  const utf8 = new TextDecoder();
  let rest = '';
  const reader = body?.getReader();
  try {
    for (;;) {
      const chunk = await reader?.read();
      if (chunk === undefined || chunk.done) return;
      const lines = (rest + utf8.decode(chunk.value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    // A reader that leaves early takes no more of the backup.
    await reader?.cancel().catch(() => undefined);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new FollowRefused(brokenOff());
  }
}

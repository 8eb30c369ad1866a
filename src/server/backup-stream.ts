// The body of a backup: a line for each part, made when the reader has taken the one before it.
import { BACKUP_UNREAD_MS_MAX } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import type { BackupPart } from '../../schemas/wire.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import { unauthorized } from './guard.ts';
import { problemResponse } from './problem.ts';
import type { TokenHolder } from './token-holder.ts';

interface Timers {
  /** Calls `then` once, after `ms` milliseconds; the returned function cancels the call. */
  after(ms: number, then: () => void): () => void;
}

const PLATFORM: Timers = {
  after(ms, then) {
    const timer = setTimeout(then, ms).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * An error ends the connection before the last part, which is how the reader sees it. `breakOff` ends it, and learns why;
 * without it, as in a test without a connection, the body fails.
 */
export async function streamBackup(
  backup: AsyncIterable<BackupPart>,
  holder: Pick<TokenHolder, 'isCurrent'>,
  clock: Timers = PLATFORM,
  breakOff?: (error: unknown) => void,
): Promise<Response> {
  const parts = backup[Symbol.asyncIterator]();
  let first: IteratorResult<BackupPart> | null;
  try {
    first = await parts.next();
  } catch (error) {
    if (error instanceof FollowRefused) return problemResponse(error.rejection);
    throw error;
  }
  const utf8 = new TextEncoder();
  let cancelLimit = (): void => undefined;
  const end = async (): Promise<void> => {
    cancelLimit();
    await parts.return?.();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        cancelLimit();
        const fail = (error: unknown): void => {
          if (breakOff === undefined) controller.error(error);
          else breakOff(error);
          void end();
        };
        const next = first ?? (await parts.next().catch(fail));
        first = null;
        if (next === undefined) return;
        if (!holder.isCurrent()) {
          fail(new FollowRefused(unauthorized()));
          return;
        }
        if (next.done === true) {
          controller.close();
          return;
        }
        controller.enqueue(utf8.encode(`${JSON.stringify(next.value)}\n`));
        // Parts that wait for their reader hold the journal as it was when the backup began.
        cancelLimit = clock.after(BACKUP_UNREAD_MS_MAX, () => fail(new FollowRefused(unread())));
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' } });
}

const unread = (): ReturnType<typeof reject> =>
  reject('closing', '', `the reader of the backup took nothing for ${BACKUP_UNREAD_MS_MAX} ms; back up again`);

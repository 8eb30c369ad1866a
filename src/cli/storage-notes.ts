// What an operator has to know of the stores while an engine serves. A refusal goes to whoever asked, and is all that is
// ever said of it: here it is told once when the stores begin to refuse, and once when that is over.
import { statfs } from 'node:fs/promises';
import { isRight } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { storageCode } from '../files/file-failure.ts';

export interface StorageNotes {
  readonly tell: (message: string) => void;
  /** How many bytes can still be written where the stores are. */
  readonly freeBytes: () => Promise<number>;
}

/** A client whose refusals by the stores are told; it is otherwise the one it is given. */
export function noteStorage(client: EngineClient, { tell, freeBytes }: StorageNotes): EngineClient {
  /** What is refused, and how many bytes of it there have to be room for; empty while all is well. */
  const refused = new Map<Work, number>();
  let looking = false;

  function noteRefused(work: Work, bytes: number, rejection: Rejection): void {
    if (refused.size === 0) tell(describeRefusal(rejection));
    refused.set(work, Math.max(bytes, refused.get(work) ?? ROOM_BYTES_MIN));
  }

  /** Where a large blob has no room, a small one may have: one write that went through does not make it over. */
  async function noteTaken(work: Work): Promise<void> {
    const bytes = refused.get(work);
    if (bytes === undefined || looking) return;
    looking = true;
    const free = await freeBytes().catch(() => 0);
    looking = false;
    if (free < bytes || refused.get(work) !== bytes) return;
    refused.delete(work);
    if (refused.size === 0) tell('the stores take everything again; what waited for them goes on');
  }

  const noting =
    <T>(work: Work, task: TaskEither<Rejection, T>, { bytes = 0, wrote }: Written<T> = {}): TaskEither<Rejection, T> =>
    async () => {
      const answer = await task();
      if (isRight(answer)) {
        if (refused.size > 0 && wrote?.(answer.right) !== false) void noteTaken(work);
      } else if (OF_STORES.has(answer.left.code)) noteRefused(work, bytes, answer.left);
      return answer;
    };

  return {
    ...client,
    createSession: (request) => noting('events', client.createSession(request)),
    fork: (id, request) => noting('events', client.fork(id, request)),
    submit: (id, request) =>
      noting('events', client.submit(id, request), { wrote: ({ events }) => events.some(({ repeated }) => !repeated) }),
    putBlob: (bytes) => noting('blobs', client.putBlob(bytes), { bytes: bytes.length }),
  };
}

/** How many bytes a user without privileges can still write to the file system of a directory. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** The two stores. Either may refuse while the other goes on. */
type Work = 'events' | 'blobs';

interface Written<T> {
  /** How many bytes it asks room for, where that is much. */
  readonly bytes?: number;
  /** Whether an answer means that something was written; it does when absent. */
  readonly wrote?: (value: T) => boolean;
}

/** A disk with less than this is full: the journal writes more than its events when it makes tables of its log. */
const ROOM_BYTES_MIN = 1_048_576;

const OF_STORES: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'storage_full',
  'storage_failed',
  'storage_unknown',
]);

function describeRefusal({ message }: Rejection): string {
  // A write of which nobody knows whether it is there failed for some reason, too.
  const isFull = storageCode(message) === 'storage_full';
  const next = isFull
    ? 'Free some space: what waits goes on then, without a restart.'
    : 'Look at the disk: what waits goes on once it takes writes again.';
  return `the ${isFull ? 'disk is full' : 'stores fail'}, and work is refused: ${message}. ${next}`;
}

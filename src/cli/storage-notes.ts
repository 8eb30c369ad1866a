// Notifies the operator about failing stores while an engine serves. A rejection reaches only the client that made the
// request; here the operator gets one notice when the stores begin to refuse writes and one when they recover.
import { statfs } from 'node:fs/promises';
import { isRight } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { storageCode } from '../files/file-failure.ts';

export interface StorageNotes {
  readonly notify: (message: string) => void;
  /** The free bytes of the file system that holds the stores. */
  readonly freeBytes: () => Promise<number>;
}

/** Wraps a client to notify about its storage rejections; answers are unchanged. */
export function noteStorage(client: EngineClient, { notify, freeBytes }: StorageNotes): EngineClient {
  /** The kinds of work that are refused, and the bytes each needs; empty while the stores accept writes. */
  const refused = new Map<Work, number>();
  let looking = false;

  function noteRefused(work: Work, bytes: number, rejection: Rejection): void {
    if (refused.size === 0) notify(describeRefusal(rejection));
    refused.set(work, Math.max(bytes, refused.get(work) ?? ROOM_BYTES_MIN));
  }

  /** A successful write alone does not end the outage: a small blob may fit where a large one does not. */
  async function noteAccepted(work: Work): Promise<void> {
    const bytes = refused.get(work);
    if (bytes === undefined || looking) return;
    looking = true;
    // Space that cannot be measured counts as none: the outage stays told, and the next write that succeeds asks again.
    const free = await freeBytes().catch(() => 0);
    looking = false;
    if (free < bytes || refused.get(work) !== bytes) return;
    refused.delete(work);
    if (refused.size === 0) notify('the stores accept writes again; waiting work continues');
  }

  const noting =
    <T>(work: Work, task: TaskEither<Rejection, T>, { bytes = 0, wrote }: Written<T> = {}): TaskEither<Rejection, T> =>
    async () => {
      const answer = await task();
      if (isRight(answer)) {
        if (refused.size > 0 && wrote?.(answer.right) !== false) void noteAccepted(work);
      } else if (OF_STORES.has(answer.left.code)) noteRefused(work, bytes, answer.left);
      return answer;
    };

  return {
    ...client,
    createSession: (request) => noting('events', client.createSession(request)),
    fork: (id, request) => noting('events', client.fork(id, request)),
    submit: (id, request) =>
      noting('events', client.submit(id, request), { wrote: ({ events }) => events.some(({ repeated }) => !repeated) }),
    putBlob: (bytes, options) =>
      noting('blobs', client.putBlob(bytes, options), {
        bytes: bytes.length,
        // It is answered before it is written.
        wrote: () => options?.durable !== false,
      }),
    joinBlobs: (request) => noting('blobs', client.joinBlobs(request)),
  };
}

/** The bytes that an unprivileged user can still write to the file system of a directory. */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** The two stores. Either may refuse writes while the other accepts them. */
type Work = 'events' | 'blobs';

interface Written<T> {
  /** The bytes that the write needs, for large writes. */
  readonly bytes?: number;
  /** Whether the answer proves a write; when absent, every answer does. */
  readonly wrote?: (value: T) => boolean;
}

/** A disk with less free space counts as full: a journal that compacts its log writes more than its events. */
const ROOM_BYTES_MIN = 1_048_576;

const OF_STORES: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'storage_full',
  'storage_failed',
  'storage_unknown',
]);

function describeRefusal({ message }: Rejection): string {
  // A write with unknown outcome also has a cause, which the message names.
  const isFull = storageCode(message) === 'storage_full';
  const next = isFull
    ? 'Free some space: waiting work then continues without a restart.'
    : 'Check the disk: waiting work continues once it accepts writes again.';
  return `the ${isFull ? 'disk is full' : 'stores fail'}, so work is refused: ${message}. ${next}`;
}

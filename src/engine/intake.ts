// How the client in process takes what it is given: as if it had come over the wire.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode } from '../../schemas/codec.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { ownWireBytes } from '../client/wire-text.ts';
import { type RequestCopy, copyRequest } from './copy-request.ts';
import { writeFault } from './faults.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface Intake {
  /** Works, unless the engine is closing. */
  open<B>(work: () => Answer<B>): TaskEither<Rejection, B>;
  /** Decodes an argument, then works. */
  argument<A, B>(codec: Codec<A>, argument: unknown, work: (argument: A) => Answer<B>): TaskEither<Rejection, B>;
  /** Decodes a copy of a request, within the bounds of a body, then works; `bytes` is its size as JSON. */
  request<A, B>(
    codec: Codec<A>,
    request: unknown,
    work: (request: A, bytes: number) => Answer<B>,
  ): TaskEither<Rejection, B>;
}

export function newIntake(closed: AbortSignal): Intake {
  const open =
    <B>(work: () => Answer<B>): TaskEither<Rejection, B> =>
    async () => {
      if (closed.aborted) return left(reject('closing', '', 'the engine is closing'));
      try {
        return await work();
      } catch {
        // A fault of ours, or of a store that throws where it should refuse: an answer all the same.
        return left(writeFault());
      }
    };

  return {
    open,
    argument: (codec, argument, work) =>
      open(async () => {
        const decoded = decode(codec, argument);
        return isLeft(decoded) ? decoded : await work(decoded.right);
      }),
    request: (codec, request, work) =>
      open(async () => {
        const wired = copyOf(request);
        if (isLeft(wired)) return wired;
        const { value, bytes } = wired.right;
        const decoded = decode(codec, value);
        return isLeft(decoded) ? left(nameUnknownKind(decoded.left)) : await work(decoded.right, bytes);
      }),
  };
}

/** What the server has just read is a copy that nobody else has already. */
function copyOf(request: unknown): Either<Rejection, RequestCopy> {
  const bytes = ownWireBytes(request);
  return bytes === undefined ? copyRequest(request) : right({ value: request, bytes });
}

// The union's own fault is more precise than "not an event": an unknown kind is told as one.
const nameUnknownKind = (rejection: Rejection): Rejection =>
  /^\/events\/\d+\/kind$/.test(rejection.path) ? { ...rejection, code: 'unknown_kind' } : rejection;

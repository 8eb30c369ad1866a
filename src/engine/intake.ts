// Checks the arguments of the in-process client in the same way as those of requests over the wire.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode } from '../../schemas/codec.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { unsharedBytes } from '../client/wire-text.ts';
import { type RequestCopy, copyRequest } from './copy-request.ts';
import type { Pause } from '../turns.ts';
import { type TellFault, tellError, writeFault } from './faults.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface Intake {
  /** Runs `work`; refused as `closing` when the engine is closing. */
  whileOpen<B>(work: () => Answer<B>): TaskEither<Rejection, B>;
  /** Decodes an argument, then runs `work`. */
  withArgument<A, B>(codec: Codec<A>, argument: unknown, work: (argument: A) => Answer<B>): TaskEither<Rejection, B>;
  /** Decodes a copy of a request, within the bounds of a body, then runs `work`; `bytes` is its size as JSON. */
  withRequest<A, B>(
    codec: Codec<A>,
    request: unknown,
    work: (request: A, bytes: number) => Answer<B>,
  ): TaskEither<Rejection, B>;
}

export function newIntake(closed: AbortSignal, tellFault: TellFault, pause: Pause): Intake {
  const whileOpen =
    <B>(work: () => Answer<B>): TaskEither<Rejection, B> =>
    async () => {
      if (closed.aborted) return left(reject('closing', '', 'the engine is closing'));
      try {
        return await work();
      } catch (error) {
        tellError(tellFault, null, 'answering a request', error);
        // An internal error, or a store that throws where it should refuse: the caller gets a rejection in either case.
        return left(writeFault());
      }
    };

  return {
    whileOpen,
    withArgument: (codec, argument, work) =>
      whileOpen(async () => {
        const decoded = decode(codec, argument);
        return isLeft(decoded) ? decoded : await work(decoded.right);
      }),
    withRequest: (codec, request, work) =>
      whileOpen(async () => {
        const copied = copyOf(request);
        if (isLeft(copied)) return copied;
        const { value, bytes } = copied.right;
        const before = pause();
        if (before !== null) await before;
        const decoded = decode(codec, value);
        const after = pause();
        if (after !== null) await after;
        return isLeft(decoded) ? left(nameUnknownKind(decoded.left)) : await work(decoded.right, bytes);
      }),
  };
}

/** A request that the server has just parsed needs no copy: no other code can change it. */
function copyOf(request: unknown): Either<Rejection, RequestCopy> {
  const bytes = unsharedBytes(request);
  return bytes === undefined ? copyRequest(request) : right({ value: request, bytes });
}

// `unknown_kind` is more precise than the code of a union that does not match.
const nameUnknownKind = (rejection: Rejection): Rejection =>
  /^\/events\/\d+\/kind$/.test(rejection.path) ? { ...rejection, code: 'unknown_kind' } : rejection;

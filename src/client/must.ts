// Unwraps the answers of an engine, for code that cannot continue after a rejection.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import { RejectedError } from './rejected-error.ts';

/** Runs a task and returns its answer; throws a {@link RejectedError} when it is refused. */
export async function must<T>(task: TaskEither<Rejection, T>): Promise<T> {
  return mustBe(await task());
}

/** The answer; throws a {@link RejectedError} when it is a rejection. */
export function mustBe<T>(answer: Either<Rejection, T>): T {
  if (isLeft(answer)) throw new RejectedError(answer.left);
  return answer.right;
}

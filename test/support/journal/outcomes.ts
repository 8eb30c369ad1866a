// Reads the answers of a port in tests.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection, RejectionCode } from '../../../schemas/rejection.ts';

/** What the task gives; throws when it is refused. */
export async function done<T>(task: TaskEither<Rejection, T>): Promise<T> {
  const answer = await task();
  if (isLeft(answer)) throw new Error(`refused as ${answer.left.code}: ${answer.left.message}`);
  return answer.right;
}

/** The rejection the task ends with; throws when it is not refused. */
export async function refusal(task: TaskEither<Rejection, unknown>): Promise<Rejection> {
  const answer = await task();
  if (isLeft(answer)) return answer.left;
  throw new Error(`not refused: ${JSON.stringify(answer.right)}`);
}

/** The code the task is refused with, or `done`. */
export async function outcome(task: TaskEither<Rejection, unknown>): Promise<RejectionCode | 'done'> {
  const answer = await task();
  return isLeft(answer) ? answer.left.code : 'done';
}

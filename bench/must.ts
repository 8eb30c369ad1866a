// Returns the answer of a task, or throws: nothing can be measured after a refusal.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../schemas/rejection.ts';

export async function must<T>(task: TaskEither<Rejection, T>): Promise<T> {
  const answer = await task();
  if (!isLeft(answer)) return answer.right;
  const { code, path, message } = answer.left;
  throw new Error(`${code} at "${path}": ${message}`);
}

// Unwraps the rejections of a port in tests; `must` (src/client/must.ts) unwraps its answers.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection, RejectionCode } from '../../../schemas/rejection.ts';

/** The rejection of the task; throws when it is not refused. */
export async function refusal(task: TaskEither<Rejection, unknown>): Promise<Rejection> {
  const answer = await task();
  if (isLeft(answer)) return answer.left;
  throw new Error(`not refused: ${JSON.stringify(answer.right)}`);
}

/** The code of the task's rejection, or `done`. */
export async function outcome(task: TaskEither<Rejection, unknown>): Promise<RejectionCode | 'done'> {
  const answer = await task();
  return isLeft(answer) ? answer.left.code : 'done';
}

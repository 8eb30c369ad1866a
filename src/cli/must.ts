// How a command meets a rejection: it ends, with what is wrong and what to do next.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { REJECTIONS, type Rejection } from '../../schemas/rejection.ts';
import { CommandFailure } from './output.ts';

/** Runs a task, or ends the command with its rejection. */
export async function must<T>(task: TaskEither<Rejection, T>): Promise<T> {
  return mustBe(await task());
}

export function mustBe<T>(result: Either<Rejection, T>): T {
  if (isLeft(result)) throw failureOf(result.left);
  return result.right;
}

const failureOf = ({ code, path, message }: Rejection): CommandFailure =>
  new CommandFailure(code, `${message}${path === '' ? '' : ` (at ${path})`}. ${adviceOf(code)}`);

/** What to do next, where a code says it: behind what is wrong, which the message has said with names and numbers. */
function adviceOf(code: Rejection['code']): string {
  const meaning: string = REJECTIONS[code];
  const end = meaning.indexOf('. ');
  return end === -1 ? meaning : meaning.slice(end + 2);
}

// Rejections as exceptions inside the journal. A store fails deep inside a chain of promises: the rejection is thrown there
// as a Refusal, and becomes a value again at the port. Any other exception is an internal error and stays an exception.
import { left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(rejection.message);
    this.rejection = rejection;
  }
}

/** Ends the current work with a rejection. */
export function refuse(code: RejectionCode, message: string): never {
  throw new Refusal(reject(code, '', message));
}

/** A task that runs `work`; a Refusal that `work` throws becomes the rejection of the task. */
export const catchRefusal =
  <T>(work: () => Promise<T>): TaskEither<Rejection, T> =>
  async () => {
    try {
      return right(await work());
    } catch (error) {
      return left(rejectionOf(error));
    }
  };

/** The rejection inside a Refusal; throws any other error again. */
export function rejectionOf(error: unknown): Rejection {
  if (error instanceof Refusal) return error.rejection;
  throw error;
}

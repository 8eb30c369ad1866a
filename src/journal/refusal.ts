// How a rejection travels inside the journal. A store fails in the depth of a chain of promises; the rejection is
// thrown there, once, and becomes data again at the port. Anything else that is thrown is a fault of ours and stays
// an exception.
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

/** Ends the work at hand with a rejection. */
export function refuse(code: RejectionCode, message: string): never {
  throw new Refusal(reject(code, '', message));
}

/** Runs `work` and gives what it made, or the rejection it ended with. */
export const answering =
  <T>(work: () => Promise<T>): TaskEither<Rejection, T> =>
  async () => {
    try {
      return right(await work());
    } catch (error) {
      return left(rejectionOf(error));
    }
  };

/** The rejection that was thrown; throws anything else again. */
export function rejectionOf(error: unknown): Rejection {
  if (error instanceof Refusal) return error.rejection;
  throw error;
}

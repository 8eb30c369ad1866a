// The error that a rejection becomes where code throws. Alone in this file, because the command line needs it at its start,
// where loading fp-ts would double the time of `refold --version`.
import type { Rejection } from '../../schemas/rejection.ts';

/** Thrown by `must` and `mustBe`. The message holds the code, the message and the path of the rejection. */
export class RejectedError extends Error {
  override readonly name = 'RejectedError';
  /** Why the engine refuses: code, path and message. */
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    const { code, message, path } = rejection;
    super(`${code}: ${message}${path === '' ? '' : ` (at ${path})`}`);
    this.rejection = rejection;
  }
}

// Unwrapping of answers for code that cannot continue after a rejection.
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { describe, expect, test } from 'vitest';
import { reject } from '../../schemas/rejection.ts';
import { RejectedError, must, mustBe } from '../../src/client/index.ts';

const REJECTION = reject('unknown_session', '/session_id', 'there is no session "s-1"');
const MESSAGE = 'unknown_session: there is no session "s-1" (at /session_id)';

describe('must', () => {
  test('returns the answer of a task', async () => {
    expect(await must(TE.right(7))).toBe(7);
  });

  test('throws the rejection of a task, with its code, message and path', async () => {
    const thrown: unknown = await must(TE.left(REJECTION)).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(RejectedError);
    expect(thrown).toMatchObject({ message: MESSAGE, rejection: REJECTION });
  });
});

describe('mustBe', () => {
  test('returns the answer', () => {
    expect(mustBe(E.right(7))).toBe(7);
  });

  test('throws the rejection; an empty path is not in the message', () => {
    expect(() => mustBe(E.left(reject('queue_full', '', 'too many requests wait')))).toThrow(
      /^queue_full: too many requests wait$/,
    );
  });
});

// Makes event content of text of any size: inline when small, else stored as a blob first.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Content } from '../../schemas/content.ts';
import { EXCERPT_CHARS, INLINE_CHARS_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from './client.ts';

export const storeContent =
  (client: EngineClient, text: string): TaskEither<Rejection, Content> =>
  async () => {
    const wellFormed = text.toWellFormed();
    if (wellFormed.length <= INLINE_CHARS_MAX) return right({ text: wellFormed });
    const bytes = new TextEncoder().encode(wellFormed);
    const stored = await client.putBlob(bytes)();
    if (isLeft(stored)) return stored;
    const head = wellFormed.slice(0, EXCERPT_CHARS).toWellFormed();
    const tail = wellFormed.slice(-EXCERPT_CHARS).toWellFormed();
    return right({ ref: stored.right, bytes: bytes.length, head, tail });
  };

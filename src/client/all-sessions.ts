// Reads the list of sessions page by page.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId } from '../../schemas/ids.ts';
import { SESSIONS_PAGE_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { ListSessions, SessionPage, SessionSummary } from '../../schemas/wire.ts';
import type { EngineClient } from './client.ts';
import { must } from './must.ts';

/** Which sessions to list. */
export type SessionFilters = Omit<ListSessions, 'after' | 'limit'>;

type List = (request: ListSessions & { readonly limit: number }) => TaskEither<Rejection, SessionPage>;

/** Every page of a list, by id in byte order; ends after the first refusal. A page may be empty. */
export async function* sessionPages(
  list: List,
  filters: SessionFilters = {},
): AsyncGenerator<Either<Rejection, readonly SessionSummary[]>, void> {
  for (let after: SessionId | null | undefined; after !== null;) {
    const request = { ...filters, limit: SESSIONS_PAGE_MAX, ...(after === undefined ? {} : { after }) };
    const page: Either<Rejection, SessionPage> = await list(request)();
    if (isLeft(page)) {
      yield page;
      return;
    }
    yield { ...page, right: page.right.sessions };
    after = page.right.next;
  }
}

/** Every session that the filters let through. Throws a RejectedError when a page is refused. */
export async function* allSessions(
  client: Pick<EngineClient, 'sessions'>,
  filters: SessionFilters = {},
): AsyncGenerator<SessionSummary, void> {
  for await (const page of sessionPages((request) => client.sessions(request), filters)) {
    yield* await must(() => Promise.resolve(page));
  }
}

// Looks for calls in the record of their session, one after the other: each search reads the whole of it.
import type { CallId, SessionId } from '../../schemas/ids.ts';
import { HOST_SEARCHES_MAX } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import { RejectedError } from '../client/rejected-error.ts';
import { type LoggedCall, findLogged } from './call-ends.ts';

export interface CallSearch {
  /** Null when the session has no such call; rejects when too many searches wait. */
  find(id: CallId): Promise<LoggedCall | null>;
}

export function newCallSearch(client: EngineClient, session: SessionId): CallSearch {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async find(id) {
      if (waiting >= HOST_SEARCHES_MAX) {
        const message = `${waiting} searches of the log wait already; ask again when some of them have ended`;
        throw new RejectedError(reject('queue_full', '', message));
      }
      waiting += 1;
      const found = last.then(() => findLogged(client, session, id)).finally(() => (waiting -= 1));
      last = found.catch(() => undefined);
      return await found;
    },
  };
}

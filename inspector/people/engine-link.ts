// Tells whether the engine answers, from the requests that the page makes anyway.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import type { News } from '../protocol.ts';

type Link = Extract<News, { readonly kind: 'engine' }>;

/** The client; `tell` is called when the link changes. */
export function withLink(client: EngineClient, tell: (link: Link) => void): EngineClient {
  let now: Link['link'] = 'up';
  const seen = (link: Link['link'], message: string): void => {
    if (link !== now) tell({ kind: 'engine', link, message });
    now = link;
  };
  const watched =
    <T>(task: TaskEither<Rejection, T>): TaskEither<Rejection, T> =>
    async () => {
      const answer = await task();
      if (!isLeft(answer)) seen('up', '');
      else if (answer.left.code === 'closing') seen('lost', answer.left.message);
      else if (answer.left.code === 'unauthorized') seen('refused', answer.left.message);
      return answer;
    };
  return {
    ...client,
    sessions: (request) => watched(client.sessions(request)),
    session: (id) => watched(client.session(id)),
    submit: (id, request) => watched(client.submit(id, request)),
  };
}

// The routes that stream a session: its commits, and the events of a client stream. Both have the same places, of which not all
// are for viewers.
import type { Context } from 'hono';
import { isLeft } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { RouteName } from '../../schemas/access.ts';
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { STREAM_COMMITS_KEPT_MAX, SUBSCRIBERS_MAX, SUBSCRIBERS_OF_VIEWERS_MAX } from '../../schemas/limits.ts';
import type { CommitRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import { RejectedError } from '../client/rejected-error.ts';
import {
  type KnownCommits,
  type StreamStart,
  type StreamedBatch,
  type MadeCommit,
  beginStream,
  streamFrom,
} from '../client/watch/session-stream.ts';
import { pause } from '../turns.ts';
import { type EventStreamOptions, type Messages, frame, streamEvents, streamMessages } from './event-stream.ts';
import { type Guarded, unauthorized } from './guard.ts';
import type { HttpHandlers } from './handler.ts';
import { problemResponse } from './problem.ts';
import { followFrom } from './query.ts';
import type { TokenHolder } from './token-holder.ts';

export type FollowingRoute = Extract<RouteName, 'followCommits' | 'stream'>;

export function followingHandlers(): HttpHandlers<FollowingRoute> {
  const places = newPlaces();
  const known = newKnownCommits();
  return {
    followCommits: async ({ context, client, of, query }) => {
      const id = of as SessionId;
      const start = await pipe(
        TE.fromEither(followFrom(context, query.from)),
        // Once the stream has begun, its status cannot change, so an unknown session is refused here.
        TE.chainFirst(() => client.session(id)),
      )();
      if (isLeft(start)) return problemResponse(start.left);
      const from = start.right;
      const live = query.deltas === '1';
      return places.take(context, (holder, options) =>
        streamEvents(
          (signal): AsyncIterable<CommitRecord | DeltaFrame> =>
            untilReplaced(
              holder,
              live ? client.followLive(id, { from, signal }) : client.followCommits(id, { from, signal }),
            ),
          options,
        ),
      );
    },
    stream: async ({ context, client, of, query }) => {
      const after = context.req.header('last-event-id') ?? query.after;
      const start = await startOf(client, of as SessionId, after);
      if ('code' in start) return problemResponse(start);
      return places.take(context, (holder, options) =>
        streamMessages(
          (signal) => untilReplaced(holder, streamFrom(client, start, { known, pause, signal })),
          CLIENT_EVENTS,
          options,
        ),
      );
    },
  };
}

async function startOf(client: EngineClient, id: SessionId, after?: string): Promise<StreamStart | Rejection> {
  try {
    return await beginStream(client, id, after);
  } catch (error) {
    if (error instanceof RejectedError) return error.rejection;
    throw error;
  }
}

const CLIENT_EVENTS: Messages<StreamedBatch> = {
  textOf: ({ events }) => events.map(({ event, data, id }) => frame(event, data, id)).join(''),
  sharedBy: ({ whole }) => whole ?? null,
  beat: frame('heartbeat', {}),
  faultOf: ({ code, message, path }) => frame('error', { error: code, message, details: { path } }),
};

interface Places {
  /** The response of a reader that has a place until it ends; else why there is none. */
  take(context: Context<Guarded>, respond: (holder: TokenHolder, options: EventStreamOptions) => Response): Response;
}

function newPlaces(): Places {
  let subscribers = 0;
  let viewers = 0;
  return {
    take(context, respond) {
      const holder = context.get('holder');
      const viewer = holder.access.scope === 'viewer' ? 1 : 0;
      if (subscribers >= SUBSCRIBERS_MAX || (viewer > 0 && viewers >= SUBSCRIBERS_OF_VIEWERS_MAX)) {
        const many = subscribers >= SUBSCRIBERS_MAX ? `${SUBSCRIBERS_MAX} readers` : `${viewers} viewers`;
        return problemResponse(reject('queue_full', '', `${many} follow sessions already; try again later`));
      }
      subscribers += 1;
      viewers += viewer;
      const onEnd = (): void => {
        subscribers -= 1;
        viewers -= viewer;
      };
      return respond(holder, { disconnected: context.req.raw.signal, onEnd });
    },
  };
}

/** The last commits, for all readers. */
function newKnownCommits(): KnownCommits {
  const commits = new Map<Digest, MadeCommit>();
  return {
    get: (chain) => commits.get(chain),
    set(chain, commit) {
      commits.delete(chain);
      commits.set(chain, commit);
      for (const oldest of commits.keys()) {
        if (commits.size <= STREAM_COMMITS_KEPT_MAX) break;
        commits.delete(oldest);
      }
    },
  };
}

/** Ends with `unauthorized` before the first item after the token was replaced. */
async function* untilReplaced<Item>(
  holder: TokenHolder,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  for await (const item of items) {
    if (!holder.isCurrent()) throw new FollowRefused(unauthorized());
    yield item;
  }
}

// Server-sent events: one reader, at its own pace. A commit is read from the journal only after the connection has accepted
// the one before it, so that a stalled reader costs one page of memory and delays no other reader.
import { COMMIT_KEPT_CHARS_MAX, FOLLOW_BEAT_MS } from '../../schemas/limits.ts';
import { type CommitRecord, versionAfter } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import { pause } from '../turns.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import { joinSignals } from '../client/join-signals.ts';
import { problemOf } from './problem.ts';

export interface EventStreamOptions {
  /** Aborts when the connection has ended. */
  readonly disconnected: AbortSignal;
  /** Called once when the stream ends, for any reason. */
  readonly onEnd: () => void;
  /** Calls `beat` periodically until the returned function is called; by default often enough to keep proxies from closing. */
  readonly everyBeat?: (beat: () => void) => () => void;
}

/**
 * The response with these commits: a `commit` for each, with the position of its last event as its id, a `delta` without an id
 * for each frame of what the model writes, and a `fault` with problem details when they end early.
 */
export const streamEvents = (
  follow: (signal: AbortSignal) => AsyncIterable<CommitRecord | DeltaFrame>,
  options: EventStreamOptions,
): Response => streamMessages(follow, COMMITS, options);

/** How the items of a stream are written as messages. */
export interface Messages<Item> {
  readonly textOf: (item: Item) => string;
  /** What stands for an item that other readers get as well: its text is made once for all of them. Null for one's own. */
  readonly sharedBy: (item: Item) => object | null;
  /** Shows that the stream is alive. */
  readonly beat: string;
  /** Why the stream ends early. */
  readonly faultOf: (why: Rejection) => string;
}

/** The response with these items, each a message. */
export function streamMessages<Item>(
  follow: (signal: AbortSignal) => AsyncIterable<Item>,
  messages: Messages<Item>,
  { disconnected, onEnd, everyBeat = everyFewSeconds }: EventStreamOptions,
): Response {
  const cancelled = new AbortController();
  const joined = joinSignals(disconnected, cancelled.signal);
  const items = follow(joined.signal)[Symbol.asyncIterator]();
  let ended = false;
  let waits = false;
  let stopBeat = (): void => undefined;

  function end(): void {
    if (ended) return;
    ended = true;
    stopBeat();
    joined.release();
    onEnd();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      // Beats show the reader that the stream is alive, and show the engine when the connection has ended.
      start(controller) {
        const beat = UTF8.encode(messages.beat);
        stopBeat = everyBeat(() => {
          if (waits && !ended && (controller.desiredSize ?? 0) > 0) controller.enqueue(beat);
        });
      },
      async pull(controller) {
        try {
          const rest = pause();
          if (rest !== null) await rest;
          waits = true;
          const next = await items.next();
          waits = false;
          if (ended) return;
          if (next.done === true) {
            end();
            controller.close();
            return;
          }
          controller.enqueue(bytesOf(messages, next.value));
        } catch (error) {
          if (ended) return;
          end();
          controller.enqueue(UTF8.encode(messages.faultOf(rejectionOf(error))));
          controller.close();
        }
      },
      cancel() {
        cancelled.abort();
        end();
      },
    },
    { highWaterMark: 1 },
  );
  // When the connection ends before the first read, `cancel` is not called.
  disconnected.addEventListener('abort', end, { once: true });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

const UTF8 = new TextEncoder();

/** The bytes of an item. Those that many readers get are kept as long as what stands for it. */
function bytesOf<Item>({ textOf, sharedBy }: Messages<Item>, item: Item): Uint8Array {
  const shared = sharedBy(item);
  const known = shared === null ? undefined : SHARED.get(shared);
  if (known !== undefined) return known;
  const bytes = UTF8.encode(textOf(item));
  if (shared !== null && bytes.length <= COMMIT_KEPT_CHARS_MAX) SHARED.set(shared, bytes);
  return bytes;
}

const SHARED = new WeakMap<object, Uint8Array>();

function everyFewSeconds(beat: () => void): () => void {
  const timer = setInterval(beat, FOLLOW_BEAT_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const rejectionOf = (error: unknown): ReturnType<typeof reject> =>
  error instanceof FollowRefused
    ? error.rejection
    : reject(
        'storage_failed',
        '',
        'the stream cannot be read from the journal; follow it again from the last position you have',
      );

/** One message: its name, its id when it has one, and JSON on one line. */
export const frame = (event: string, data: unknown, id?: number | string): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

const COMMITS: Messages<CommitRecord | DeltaFrame> = {
  textOf: (item) => (item.kind === 'delta' ? frame('delta', item) : frame('commit', item, versionAfter(item) - 1)),
  // The last commit of a session is one record for all who wait for it.
  sharedBy: (item) => (item.kind === 'commit' ? item : null),
  // A comment, which readers of server-sent events ignore.
  beat: ':\n\n',
  faultOf: (why) => frame('fault', problemOf(why)),
};

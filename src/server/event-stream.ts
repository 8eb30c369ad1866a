// Server-sent events: one reader, at its own pace. A record is read from the journal when the connection has taken the
// one before it, so that a reader that stalls holds one page and nobody else.
import { FOLLOW_BEAT_MS } from '../../schemas/limits.ts';
import type { EventRecord } from '../../schemas/record.ts';
import { reject } from '../../schemas/rejection.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import { joinSignals } from '../client/join-signals.ts';
import { problemOf } from './problem.ts';

export interface EventStreamOptions {
  /** Aborts when the connection is gone. */
  readonly gone: AbortSignal;
  /** Called once, however the stream ends. */
  readonly onEnd: () => void;
  /** Calls a function now and then, until the function it returns is called; a time that suits proxies by default. */
  readonly everyBeat?: (beat: () => void) => () => void;
}

/** The response that carries these records: `event` for each, and `fault` with problem details when they end early. */
export function streamEvents(
  follow: (signal: AbortSignal) => AsyncIterable<EventRecord>,
  { gone, onEnd, everyBeat = everyFewSeconds }: EventStreamOptions,
): Response {
  const over = new AbortController();
  const either = joinSignals(gone, over.signal);
  const records = follow(either.signal)[Symbol.asyncIterator]();
  const utf8 = new TextEncoder();
  let ended = false;

  function end(): void {
    if (ended) return;
    ended = true;
    either.release();
    onEnd();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A reader that waits hears that it does, and a connection that is gone is found to be.
        const stopBeat = everyBeat(() => {
          if (!ended && (controller.desiredSize ?? 0) > 0) controller.enqueue(utf8.encode(COMMENT));
        });
        try {
          const next = await records.next();
          if (ended) return;
          if (next.done === true) {
            end();
            controller.close();
            return;
          }
          controller.enqueue(utf8.encode(frame('event', next.value, next.value.position)));
        } catch (error) {
          if (ended) return;
          end();
          controller.enqueue(utf8.encode(frame('fault', problemOf(rejectionOf(error)))));
          controller.close();
        } finally {
          stopBeat();
        }
      },
      cancel() {
        over.abort();
        end();
      },
    },
    { highWaterMark: 1 },
  );
  // A connection that is gone before anything was read from the stream cancels nothing.
  gone.addEventListener('abort', end, { once: true });
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  });
}

/** Nothing, as readers of events understand it. */
const COMMENT = ':\n\n';

function everyFewSeconds(beat: () => void): () => void {
  const timer = setInterval(beat, FOLLOW_BEAT_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const rejectionOf = (error: unknown): ReturnType<typeof reject> =>
  error instanceof FollowRefused ? error.rejection : reject('storage_failed', '', 'the stream cannot be read');

const frame = (event: string, data: unknown, id?: number): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

// Following a stream over HTTP: server-sent events, taken up again after the last one seen whenever the connection
// breaks, so that a reader does not notice that the engine was restarted.
import { setTimeout as pause } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventRecord } from '../../schemas/record.ts';
import type { Transport } from './http-transport.ts';

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

export interface Followed {
  /** The session's route. */
  readonly path: string;
  readonly from: number;
  readonly signal?: AbortSignal | undefined;
}

/** Yields event records in order until aborted. Throws when the engine refuses, and not when it is away. */
export async function* followEvents(transport: Transport, followed: Followed): AsyncGenerator<EventRecord> {
  const { closed } = transport;
  const over = followed.signal === undefined ? closed : AbortSignal.any([followed.signal, closed]);
  let at = followed.from;
  let pauseMs = PAUSE_MS_MIN;
  while (!over.aborted) {
    const response = await transport.send({ method: 'GET', path: `${followed.path}/events?from=${at}`, signal: over });
    if (isLeft(response)) {
      if (over.aborted) return;
      if (response.left.code !== 'closing') throw new Error(`${response.left.code}: ${response.left.message}`);
      await pause(pauseMs, undefined, { signal: over }).catch(() => undefined);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
      continue;
    }
    pauseMs = PAUSE_MS_MIN;
    for await (const record of recordsOf(response.right)) {
      yield record;
      at = record.position + 1;
    }
  }
}

async function* recordsOf(response: Response): AsyncGenerator<EventRecord> {
  const ready: EventRecord[] = [];
  const parser = createParser({ onEvent: ({ data }) => ready.push(JSON.parse(data) as EventRecord) });
  const utf8 = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      parser.feed(utf8.decode(chunk, { stream: true }));
      yield* ready.splice(0);
    }
  } catch {
    // The connection broke or was aborted; whoever follows knows which.
  }
}

// Stores that count what passes through them: durable writes with their time and bytes, blobs, and the time from the last
// result on disk to the next granted generate.
import type { SessionId } from '../schemas/ids.ts';
import type { Blobs } from '../src/blobs/blobs.ts';
import type { EngineClient } from '../src/client/client.ts';
import type { Journal } from '../src/journal/journal.ts';
import type { OpenStore } from '../src/journal/store.ts';
import { watchGrants } from './watch-grants.ts';

export interface Meter {
  /** Milliseconds of each durable write of the journal. */
  writes: number[];
  /** Keys and values written to the journal. */
  journalBytes: number;
  /** Canonical bytes of the events that were appended. */
  eventBytes: number;
  blobs: number;
  blobBytes: number;
  /** Milliseconds from the last result on disk to the grant of the next generate. */
  handovers: number[];
}

/** A blob costs this many barriers: one for its file and three for the directories above it. */
export const BARRIERS_PER_BLOB = 4;

export const newMeter = (): Meter => ({
  writes: [],
  journalBytes: 0,
  eventBytes: 0,
  blobs: 0,
  blobBytes: 0,
  handovers: [],
});

export function resetMeter(meter: Meter): void {
  Object.assign(meter, newMeter());
}

export const meteredStore =
  (open: OpenStore, meter: Meter): OpenStore =>
  async () => {
    const store = await open();
    return {
      ...store,
      async write(puts) {
        const startedAt = performance.now();
        await store.write(puts);
        meter.writes.push(performance.now() - startedAt);
        for (const { key, value } of puts) meter.journalBytes += key.length + (value?.length ?? 0);
      },
    };
  };

export const meteredBlobs = (blobs: Blobs, meter: Meter): Blobs => ({
  ...blobs,
  put: (bytes) => async () => {
    meter.blobs += 1;
    meter.blobBytes += bytes.length;
    return await blobs.put(bytes)();
  },
});

export interface Handover {
  readonly journal: (journal: Journal) => Journal;
  readonly client: (client: EngineClient) => EngineClient;
}

/** Measures from the append that makes the last result durable to the grant of the generate that follows. */
export function watchHandover(meter: Meter): Handover {
  const settledAt = new Map<SessionId, number>();
  return {
    journal: (journal) => ({
      ...journal,
      append:
        (session, commits, ...rest) =>
        async () => {
          const answer = await journal.append(session, commits, ...rest)();
          const texts = commits.flatMap(({ events }) => events.map(({ text }) => text));
          if (texts.some((text) => text.includes('"kind":"ToolCallSettled"')))
            settledAt.set(session, performance.now());
          for (const text of texts) meter.eventBytes += Buffer.byteLength(text);
          return answer;
        },
    }),
    client: (client) =>
      watchGrants(client, ({ effects }) => {
        for (const { kind, session_id } of effects) {
          const at = settledAt.get(session_id);
          if (kind === 'llm.generate' && at !== undefined) meter.handovers.push(performance.now() - at);
        }
      }),
  };
}

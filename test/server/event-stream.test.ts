import { expect, test } from 'vitest';
import type { CommitRecord } from '../../schemas/record.ts';
import { streamEvents } from '../../src/server/event-stream.ts';

/** A stream that yields one commit of one event at a time, with beats that the test makes. */
async function setUp() {
  const beats = new Set<() => void>();
  let give = (_record: CommitRecord): void => undefined;
  async function* follow(): AsyncGenerator<CommitRecord> {
    for (;;) yield await new Promise<CommitRecord>((resolve) => (give = resolve));
  }
  const response = streamEvents(follow, {
    disconnected: new AbortController().signal,
    onEnd: () => undefined,
    everyBeat: (beat) => {
      beats.add(beat);
      return () => beats.delete(beat);
    },
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  const beat = (): void => {
    for (const one of beats) one();
  };
  // The stream pulls its first record without a read.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return {
    read,
    beat,
    beats,
    reader,
    give: (position: number) => give({ position, events: [{}] } as unknown as CommitRecord),
  };
}

test('a waiting reader gets a beat, and then the next record', async () => {
  const { read, beat, give } = await setUp();
  const first = read();
  beat();
  expect(await first).toBe(':\n\n');
  const second = read();
  give(7);
  expect(await second).toContain('id: 7\n');
});

test('a stalled reader gets one beat at most', async () => {
  const { read, beat, give } = await setUp();
  for (let count = 0; count < 10; count += 1) beat();
  give(1);
  expect(await read()).toBe(':\n\n');
  expect(await read()).toContain('id: 1\n');
});

test('a cancelled stream sends no further beat', async () => {
  const { read, beats, reader } = await setUp();
  const pending = read();
  expect(beats.size).toBe(1);
  await reader.cancel();
  await pending;
  for (const beat of beats) beat();
});

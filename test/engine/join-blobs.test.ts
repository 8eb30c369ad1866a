// Joining blobs: one at a time, in order, and only what fits.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { BLOB_JOINS_WAITING_MAX } from '../../schemas/limits.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { newBlobJoins } from '../../src/engine/join-blobs.ts';
import { newUnnamedBlobs } from '../../src/engine/unnamed-blobs.ts';

const newJoins = (blobs: Blobs) => newBlobJoins(blobs, newUnnamedBlobs());
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('one join runs at a time, and only so many wait', async () => {
  const blobs = openMemoryBlobs();
  const part = await must(blobs.put(bytesOf('a')));
  let running = 0;
  let most = 0;
  const joins = newJoins({
    ...blobs,
    put: (bytes) => async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return await blobs.put(bytes)();
    },
  });
  const asked = Array.from({ length: BLOB_JOINS_WAITING_MAX + 1 }, () => joins({ parts: [part, part] }));
  const answers = await Promise.all(asked);
  expect(most).toBe(1);
  expect(answers.filter((answer) => isLeft(answer))).toMatchObject([{ left: { code: 'queue_full' } }]);
  expect(answers[0]).toEqual(right(digestText('aa')));
  expect(await joins({ parts: [part] })).toEqual(right(part));
});

test('a part whose size changes meanwhile is damaged, and nothing is stored', async () => {
  const blobs = openMemoryBlobs();
  const part = await must(blobs.put(bytesOf('abc')));
  for (const bytes of [2, 4]) {
    const joins = newJoins({
      ...blobs,
      ends: () => () => Promise.resolve(right({ bytes, head: bytesOf('a'), tail: bytesOf('c') })),
    });
    expect(await joins({ parts: [part] })).toMatchObject({ left: { code: 'damaged' } });
  }
  const stored: string[] = [];
  for await (const ref of blobs.list()) stored.push(ref);
  expect(stored).toEqual([part]);
});

// Uploads that are never finished are bounded: by bytes and by number, until an event names them or they are joined.
import { isRight, left, right } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { UNNAMED_BLOB_BYTES_MAX, UNNAMED_BLOB_BYTES_MIN } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import { newUnnamedBlobs } from '../../src/engine/unnamed-blobs.ts';
import { must } from '../../src/client/must.ts';
import { newDisk } from '../support/engine/disk.ts';
import { newWorld, packageOf } from '../support/engine/world.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { FREE } from '../support/tools.ts';

const MIN = UNNAMED_BLOB_BYTES_MIN;
const refOf = (name: string): Digest => digestText(name);
const stored = (name: string) => () => Promise.resolve(right(refOf(name)));

test('blobs that no event names are refused beyond the bound, and accepted again once some are named', async () => {
  const unnamed = newUnnamedBlobs(3 * MIN);
  for (const name of ['a', 'b', 'c']) expect(await unnamed.put(MIN, stored(name))).toEqual(right(refOf(name)));
  expect(await unnamed.put(1, stored('d'))).toMatchObject({
    left: { code: 'uploads_full', message: expect.stringContaining('refold gc') as string },
  });
  unnamed.named([refOf('b'), refOf('never put')]);
  expect(isRight(await unnamed.put(1, stored('d')))).toBe(true);
  expect(isRight(await unnamed.put(1, stored('e')))).toBe(false);
});

test('the same blob counts once, a put that failed does not count, and small ones count as more', async () => {
  const unnamed = newUnnamedBlobs(2 * MIN);
  for (let again = 0; again < 5; again += 1) expect(isRight(await unnamed.put(1, stored('a')))).toBe(true);
  const full = left(reject('storage_full', '', 'full'));
  for (let again = 0; again < 5; again += 1) expect(await unnamed.put(MIN, () => Promise.resolve(full))).toBe(full);
  expect(isRight(await unnamed.put(1, stored('b')))).toBe(true);
  expect(isRight(await unnamed.put(1, stored('c')))).toBe(false);
});

test('many at a time do not exceed the bound together', async () => {
  const unnamed = newUnnamedBlobs(2 * MIN);
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => unnamed.put(MIN, stored(name))));
  expect(answers.filter(isRight)).toHaveLength(2);
});

test('in an engine, parts are refused beyond the bound; what is made of them counts in their place until an event names it', async () => {
  const world = await newWorld(newDisk(), newVirtualClock(), { unnamedBlobBytesMax: 3 * MIN });
  const { client } = world.engine;
  const put = (fill: number) => client.putBlob(new Uint8Array(MIN).fill(fill))();
  const [first, second] = [await must(() => put(1)), await must(() => put(2))];
  await must(() => put(3));
  expect(await put(4)).toMatchObject({ left: { code: 'uploads_full' } });
  const joined = await must(client.joinBlobs({ parts: [first, second] }));
  expect(await put(4)).toMatchObject({ left: { code: 'uploads_full' } });
  // Its parts are free now: joined in another order they would fill the disk for nothing.
  expect(await client.joinBlobs({ parts: [second, first] })()).toMatchObject({ left: { code: 'uploads_full' } });
  await world.talk.create(packageOf([FREE]));
  await world.talk.submit([{ kind: 'RunRequested', input: { ref: joined, bytes: 2 * MIN, head: '', tail: '' } }]);
  expect(isRight(await put(4))).toBe(true);
  expect(isRight(await put(5))).toBe(true);
  expect(await put(6)).toMatchObject({ left: { code: 'uploads_full' } });
});

test('the bound holds the largest blob many times, and the memory of a table of the smallest ones', () => {
  expect(UNNAMED_BLOB_BYTES_MAX / UNNAMED_BLOB_BYTES_MIN).toBeLessThanOrEqual(262_144);
});

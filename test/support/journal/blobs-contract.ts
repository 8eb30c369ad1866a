// The contract of the blob port. Every adapter runs this suite.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../../schemas/canonical.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import { unreachable } from '../../../schemas/rejection.ts';
import type { Blobs } from '../../../src/blobs/blobs.ts';
import { must } from '../../../src/client/must.ts';
import { outcome, refusal } from './outcomes.ts';

export interface OpenedBlobs {
  readonly blobs: Blobs;
  /** Closes the store and opens it again; a store in memory returns itself. */
  readonly reopen: () => Promise<Blobs>;
  readonly dispose: () => Promise<void>;
}

type Open = () => Promise<OpenedBlobs>;
type Step = 'put' | 'get' | 'has' | 'delete' | 'reopen';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const absent = digestText('never put');

async function listed(blobs: Blobs): Promise<readonly Digest[]> {
  const refs: Digest[] = [];
  for await (const ref of blobs.list()) refs.push(ref);
  return refs;
}

export function blobsContract(name: string, open: Open): void {
  const withBlobs = (work: (opened: OpenedBlobs) => Promise<void>) => async (): Promise<void> => {
    const opened = await open();
    try {
      await work(opened);
    } finally {
      await opened.dispose();
    }
  };

  describe(`${name} keep the blob contract`, () => {
    test(
      'return the bytes under their digest, also after a reopening',
      withBlobs(async ({ blobs, reopen }) => {
        const all = ['', 'a', 'ä€𝄞', 'x'.repeat(200_000)].map(bytesOf);
        for (const bytes of all) expect(await must(blobs.put(bytes))).toBe(digestText(bytes));
        const again = await reopen();
        for (const bytes of all) {
          const found = await must(again.get(digestText(bytes)));
          expect(Buffer.compare(found, bytes)).toBe(0);
          expect(await must(again.has(digestText(bytes)))).toBe(true);
        }
        expect(await listed(again)).toEqual(all.map(digestText).sort());
      }),
    );

    test(
      'return the time of the last put',
      withBlobs(async ({ blobs }) => {
        const bytes = bytesOf('dated');
        const before = Date.now() - 2_000;
        const ref = await must(blobs.put(bytes));
        const first = await must(blobs.lastPut(ref));
        expect(first).toBeGreaterThan(before);
        expect(first).toBeLessThan(Date.now() + 2_000);
        await must(blobs.put(bytes));
        expect(await must(blobs.lastPut(ref))).toBeGreaterThanOrEqual(first);
        expect((await refusal(blobs.lastPut(absent))).code).toBe('unknown_blob');
      }),
    );

    test(
      'return the size and both ends of a blob, whole when they are short',
      withBlobs(async ({ blobs }) => {
        const ref = await must(blobs.put(bytesOf('0123456789')));
        for (const [asked, head, tail] of [
          [3, '012', '789'],
          [10, '0123456789', '0123456789'],
          [99, '0123456789', '0123456789'],
          [0, '', ''],
        ] as const) {
          const ends = await must(blobs.ends(ref, asked));
          expect([ends.bytes, ...[ends.head, ends.tail].map((part) => new TextDecoder().decode(part))]).toEqual([
            10,
            head,
            tail,
          ]);
        }
        const empty = await must(blobs.put(bytesOf('')));
        expect((await must(blobs.ends(empty, 5))).bytes).toBe(0);
        expect((await refusal(blobs.ends(absent, 5))).code).toBe('unknown_blob');
      }),
    );

    test(
      'refuse a digest that was never put as unknown',
      withBlobs(async ({ blobs }) => {
        expect((await refusal(blobs.get(absent))).code).toBe('unknown_blob');
        expect((await refusal(blobs.delete(absent))).code).toBe('unknown_blob');
        expect(await must(blobs.has(absent))).toBe(false);
        expect(await listed(blobs)).toEqual([]);
      }),
    );

    test(
      'accept the same bytes repeatedly, also concurrently',
      withBlobs(async ({ blobs }) => {
        const bytes = bytesOf('the same');
        const refs = await Promise.all(Array.from({ length: 20 }, () => must(blobs.put(bytes))));
        expect(new Set(refs)).toEqual(new Set([digestText(bytes)]));
        expect(await listed(blobs)).toEqual([digestText(bytes)]);
      }),
    );

    test(
      'store many blobs concurrently',
      withBlobs(async ({ blobs, reopen }) => {
        const all = Array.from({ length: 100 }, (_, n) => bytesOf(`blob ${n}`));
        await Promise.all(all.map((bytes) => must(blobs.put(bytes))));
        const again = await reopen();
        const found = await Promise.all(all.map((bytes) => must(again.get(digestText(bytes)))));
        expect(found.map((bytes) => new TextDecoder().decode(bytes))).toEqual(all.map((_, n) => `blob ${n}`));
        expect(await listed(again)).toEqual(all.map(digestText).sort());
      }),
    );

    test(
      'refuse a deleted blob as unknown, and accept it again',
      withBlobs(async ({ blobs, reopen }) => {
        const ref = await must(blobs.put(bytesOf('to go')));
        const kept = await must(blobs.put(bytesOf('to stay')));
        await must(blobs.delete(ref));
        expect(await outcome(blobs.get(ref))).toBe('unknown_blob');
        const again = await reopen();
        expect(await listed(again)).toEqual([kept]);
        expect(await must(again.put(bytesOf('to go')))).toBe(ref);
        expect(await must(again.has(ref))).toBe(true);
      }),
    );

    test(
      'stay when they were put at the time before which they are to be deleted, or later',
      withBlobs(async ({ blobs }) => {
        const ref = await must(blobs.put(bytesOf('used again')));
        const put = await must(blobs.lastPut(ref));
        for (const lastPutBeforeMs of [put, put - 1_000]) {
          expect(await outcome(blobs.delete(ref, { lastPutBeforeMs }))).toBe('unknown_blob');
        }
        expect(await must(blobs.has(ref))).toBe(true);
        await must(blobs.delete(ref, { lastPutBeforeMs: put + 1 }));
        expect(await must(blobs.has(ref))).toBe(false);
      }),
    );

    test(
      'return a copy of the bytes to each reader',
      withBlobs(async ({ blobs }) => {
        const bytes = bytesOf('mine');
        const ref = await must(blobs.put(bytes));
        bytes.fill(0);
        (await must(blobs.get(ref))).fill(0);
        expect(new TextDecoder().decode(await must(blobs.get(ref)))).toBe('mine');
      }),
    );

    test(
      'accept a blob of the maximum size, and refuse one byte more',
      withBlobs(async ({ blobs }) => {
        const tooLarge = await refusal(blobs.put(new Uint8Array(BLOB_BYTES_MAX + 1)));
        expect(tooLarge.code).toBe('too_large');
        const ref = await must(blobs.put(new Uint8Array(BLOB_BYTES_MAX)));
        expect((await must(blobs.get(ref))).length).toBe(BLOB_BYTES_MAX);
      }),
    );

    test(
      'refuse every request after closing',
      withBlobs(async ({ blobs }) => {
        const accepted = blobs.put(bytesOf('accepted'))();
        await blobs.close();
        await blobs.close();
        expect((await accepted)._tag).toBe('Right');
        for (const task of [blobs.put(bytesOf('late')), blobs.get(absent), blobs.has(absent), blobs.delete(absent)]) {
          expect((await refusal(task)).code).toBe('closing');
        }
      }),
    );

    test('answer like a set of byte strings, for random sequences of requests', async () => {
      expect.hasAssertions();
      const step = fc.record({
        what: fc.constantFrom<Step>('put', 'put', 'get', 'has', 'delete', 'reopen'),
        n: fc.nat(5),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const opened = await open();
          try {
            await compareWithSet(opened, steps);
          } finally {
            await opened.dispose();
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}

async function compareWithSet(
  opened: OpenedBlobs,
  steps: readonly { readonly what: Step; readonly n: number }[],
): Promise<void> {
  let { blobs } = opened;
  const model = new Set<Digest>();
  for (const { what, n } of steps) {
    if (what === 'reopen') blobs = await opened.reopen();
    const ref = digestText(bytesOf(`value ${n}`));
    const known = model.has(ref) ? 'done' : 'unknown_blob';
    const expected = { put: 'done', get: known, has: model.has(ref), delete: known, reopen: [...model].sort() }[what];
    if (what === 'put') model.add(ref);
    if (what === 'delete') model.delete(ref);
    expect(await take(blobs, what, n)).toEqual(expected);
  }
  expect(await listed(blobs)).toEqual([...model].sort());
}

async function take(blobs: Blobs, what: Step, n: number): Promise<unknown> {
  const bytes = bytesOf(`value ${n}`);
  switch (what) {
    case 'put':
      return outcome(blobs.put(bytes));
    case 'get':
      return outcome(blobs.get(digestText(bytes)));
    case 'has':
      return must(blobs.has(digestText(bytes)));
    case 'delete':
      return outcome(blobs.delete(digestText(bytes)));
    case 'reopen':
      return listed(blobs);
    default:
      return unreachable(what);
  }
}

// Puts without durability: one at a time, bounded, and never a reason to fail.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { newLatePuts } from '../../src/blobs/late-puts.ts';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { must } from '../../src/client/must.ts';
import { digestText } from '../../schemas/canonical.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const refOf = (text: string) => digestText(text);

/** Writes that end when the test says so. */
function newWrites() {
  const open: (() => void)[] = [];
  let begun = 0;
  const write = (): Promise<void> => {
    begun += 1;
    return new Promise((resolve) => open.push(resolve));
  };
  return { write, begun: () => begun, end: () => open.shift()?.() };
}

test('are answered at once, written one after the other, and found while they wait', async () => {
  const late = newLatePuts(100);
  const { write, begun, end } = newWrites();
  await late.add(refOf('a'), 10, write);
  await late.add(refOf('b'), 10, write);
  await nextTurn();
  expect(begun()).toBe(1);
  expect(late.pending(refOf('b'))).not.toBeNull();
  end();
  await nextTurn();
  expect(late.pending(refOf('a'))).toBeNull();
  expect(begun()).toBe(2);
  end();
  await late.settled();
  await nextTurn();
  expect(late.pending(refOf('b'))).toBeNull();
});

test('wait when more bytes wait than may, but a single large one does not', async () => {
  const late = newLatePuts(100);
  const { write, end } = newWrites();
  await late.add(refOf('large'), 1_000, write);
  let added = false;
  const add = async (): Promise<void> => {
    await late.add(refOf('next'), 1, write);
    added = true;
  };
  const next = add();
  await nextTurn();
  expect(added).toBe(false);
  end();
  await next;
  end();
  await late.settled();
});

test('that fail leave the blob absent, and the next ones are written', async () => {
  const late = newLatePuts(100);
  const done: string[] = [];
  await late.add(refOf('a'), 1, () => Promise.reject(new Error('the disk is full')));
  await late.add(refOf('b'), 1, () => Promise.resolve(done.push('b')));
  await late.settled();
  expect(done).toEqual(['b']);
});

test('are read by this process at once, and stay after it has closed', () =>
  inTemporaryDirectory(async (base) => {
    const blobs = await must(openFileBlobs(base));
    const bytes = new TextEncoder().encode('evidence');
    const ref = await must(blobs.put(bytes, { durable: false }));
    expect(Buffer.from(await must(blobs.get(ref))).toString()).toBe('evidence');
    // A read that was asked for before the write has begun.
    const [later, read] = [blobs.put(new Uint8Array(9), { durable: false })(), nextTurn()];
    await read;
    expect(await must(blobs.has(await must(() => later)))).toBe(true);
    const last = await must(blobs.put(new TextEncoder().encode('the last'), { durable: false }));
    await blobs.close();
    const again = await must(openFileBlobs(base));
    expect(await must(again.has(last))).toBe(true);
    await again.close();
  }));

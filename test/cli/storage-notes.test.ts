// The notices about stores that refuse writes: one when they begin to refuse, one when they recover.
import { left, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { reject } from '../../schemas/rejection.ts';
import { freeBytesOf, noteStorage } from '../../src/cli/storage-notes.ts';
import { must } from '../../src/client/must.ts';
import { newWorld } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';

const MEBIBYTE = 1_048_576;
const FULL = reject('storage_full', '', 'writing a blob: ENOSPC: no space left on device, write');

async function setUp() {
  const { engine } = await newWorld();
  const disk = { free: 100 * MEBIBYTE, events: true, blobs: true, fault: FULL };
  const notices: string[] = [];
  const { client } = engine;
  const notes = noteStorage(
    {
      ...client,
      submit: (id, request) => (disk.events ? client.submit(id, request) : async () => left(disk.fault)),
      putBlob: (bytes) =>
        disk.blobs || bytes.length < disk.free ? client.putBlob(bytes) : async () => left(disk.fault),
    },
    { notify: (message) => notices.push(message), freeBytes: () => Promise.resolve(disk.free) },
  );
  const id = brand<'SessionId'>('s');
  await must(notes.createSession({ session_id: id }));
  let count = 0;
  const submit = (event_id = `e${(count += 1)}`): Promise<string> =>
    outcome(notes.submit(id, { events: [{ event_id: brand(event_id), kind: 'SessionConfigured', config: {} }] }));
  const put = (bytes: number): Promise<string> => outcome(notes.putBlob(new Uint8Array(bytes)));
  return { disk, notices, submit, put, close: () => engine.close() };
}

describe('the stores of a serving engine', () => {
  test('cause one notice when they are full, and one when they recover', async () => {
    const { disk, notices, submit, put, close } = await setUp();
    expect([await put(10), await submit()]).toEqual(['done', 'done']);
    expect(notices).toEqual([]);
    Object.assign(disk, { free: 0, events: false, blobs: false });
    expect([await put(20), await submit(), await put(30)]).toEqual(['storage_full', 'storage_full', 'storage_full']);
    expect(notices).toEqual([
      'the disk is full, so work is refused: writing a blob: ENOSPC: no space left on device, write. ' +
        'Free some space: waiting work then continues without a restart.',
    ]);
    Object.assign(disk, { free: 100 * MEBIBYTE, events: true, blobs: true });
    await put(20);
    expect(notices).toHaveLength(1);
    await submit();
    await put(30);
    await submit();
    expect(notices.slice(1)).toEqual(['the stores accept writes again; waiting work continues']);
    disk.events = false;
    await submit();
    expect(notices).toHaveLength(3);
    await close();
  });

  test('stay full while only small writes succeed, or while repeated writes are answered', async () => {
    const { disk, notices, submit, put, close } = await setUp();
    await submit('there');
    Object.assign(disk, { free: 2 * MEBIBYTE, blobs: false });
    expect(await put(3 * MEBIBYTE)).toBe('storage_full');
    expect(await put(5)).toBe('done');
    disk.events = false;
    disk.free = 0;
    expect(await submit()).toBe('storage_full');
    disk.events = true;
    disk.free = 2 * MEBIBYTE;
    expect(await submit('there')).toBe('done');
    expect(notices).toHaveLength(1);
    disk.free = 3 * MEBIBYTE;
    await submit();
    await put(5);
    expect(notices).toHaveLength(2);
    await close();
  });

  test('cause a notice when they fail for another reason; other rejections cause none', async () => {
    const { disk, notices, submit, close } = await setUp();
    Object.assign(disk, { events: false, fault: reject('queue_full', '', 'too much at once') });
    await submit();
    expect(notices).toEqual([]);
    disk.fault = reject('storage_failed', '', 'writing to the journal: EIO: i/o error');
    await submit();
    expect(notices).toEqual([
      'the stores fail, so work is refused: writing to the journal: EIO: i/o error. ' +
        'Check the disk: waiting work continues once it accepts writes again.',
    ]);
    await close();
  });
});

test('the free space of a directory is that of its file system', async () => {
  expect(await freeBytesOf('.')).toBeGreaterThan(0);
});

test('the wrapped client answers like the original', async () => {
  const { engine } = await newWorld();
  const notes = noteStorage(engine.client, { notify: () => undefined, freeBytes: () => Promise.resolve(0) });
  expect(await notes.info()()).toEqual(right(await must(engine.client.info())));
  await engine.close();
});

// A put that is answered survives a power cut: the bytes were synced before the blob had its name, and every directory on
// its path was synced after it got its entry.
import type * as FileSystem from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { must } from '../../src/client/must.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

interface Step {
  readonly what: 'entry' | 'sync';
  /** The entry that was created, or the file or directory that was synced. */
  readonly path: string;
  readonly from?: string;
  readonly begun: number;
  readonly over: number;
}

/** The sync of `slow` takes this many more turns of the event loop, so that others overtake it. */
const SLOW_TURNS = 200;

const log = vi.hoisted(() => ({ steps: [] as unknown[], now: 0, slow: '' }));

vi.mock('node:fs/promises', async (importActual) => {
  const actual = await importActual<typeof FileSystem>();
  const tick = (): number => (log.now += 1);
  async function noting<T>(step: object, work: () => Promise<T>): Promise<T> {
    const begun = tick();
    const result = await work();
    log.steps.push({ ...step, begun, over: tick() });
    return result;
  }
  return {
    ...actual,
    mkdir: (path: string, options: object) => noting({ what: 'entry', path }, () => actual.mkdir(path, options)),
    rename: (from: string, path: string) => noting({ what: 'entry', path, from }, () => actual.rename(from, path)),
    open: async (...given: Parameters<typeof actual.open>) => {
      const file = await actual.open(...given);
      const sync = file.sync.bind(file);
      const path = String(given[0]);
      file.sync = () =>
        noting({ what: 'sync', path }, async () => {
          for (let turn = 0; path === log.slow && turn < SLOW_TURNS; turn += 1) await nextTurn();
          await sync();
        });
      return file;
    },
  };
});

const steps = (): readonly Step[] => log.steps as readonly Step[];

/** Whether a path was synced, from start to end, between two moments. */
const syncedBetween = (path: string, after: number, before: number): boolean =>
  steps().some((step) => step.what === 'sync' && step.path === path && step.begun > after && step.over < before);

/** What a power cut at this moment would lose of the path of a blob. */
function missing(base: string, path: string): readonly string[] {
  const faults: string[] = [];
  for (let entry = path; entry !== base; entry = dirname(entry)) {
    const made = steps().findLast((step) => step.what === 'entry' && step.path === entry);
    if (!syncedBetween(dirname(entry), made?.over ?? 0, Infinity)) faults.push(`the entry ${entry}`);
    if (made?.from !== undefined && !syncedBetween(made.from, 0, made.begun)) faults.push(`the bytes of ${entry}`);
  }
  return faults;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function putAndCheck(blobs: Blobs, base: string, text: string): Promise<readonly string[]> {
  const ref = await must(blobs.put(bytesOf(text)));
  const hex = ref.slice('sha256:'.length);
  return missing(base, join(base, hex.slice(0, 2), hex.slice(2, 4), hex));
}

beforeEach(() => {
  log.steps = [];
  log.slow = '';
});

describe('a put that is answered survives a power cut', () => {
  test('of a first blob, and of many put concurrently that share directories', () =>
    inTemporaryDirectory(async (base) => {
      const blobs = await must(openFileBlobs(base));
      expect(await putAndCheck(blobs, base, 'first')).toEqual([]);
      log.slow = base;
      const many = Array.from({ length: 600 }, (_, index) => putAndCheck(blobs, base, `blob ${index}`));
      expect((await Promise.all(many)).flat()).toEqual([]);
      await blobs.close();
    }));

  test('of a blob that another process put before it died', () =>
    inTemporaryDirectory(async (base) => {
      const before = await must(openFileBlobs(base));
      await must(before.put(bytesOf('left behind')));
      await before.close();
      log.steps = [];
      const blobs = await must(openFileBlobs(base));
      expect(await putAndCheck(blobs, base, 'left behind')).toEqual([]);
      await blobs.close();
    }));

  test('of a blob whose directories were deleted in between', () =>
    inTemporaryDirectory(async (base) => {
      const { rm } = await import('node:fs/promises');
      const blobs = await must(openFileBlobs(base));
      const ref = await must(blobs.put(bytesOf('once')));
      await rm(join(base, ref.slice(7, 9)), { recursive: true });
      log.steps = [];
      expect(await putAndCheck(blobs, base, 'once')).toEqual([]);
      await blobs.close();
    }));
});

describe('a put without durability', () => {
  test('waits for no sync, and a power cut leaves the whole blob or none of it', () =>
    inTemporaryDirectory(async (base) => {
      const blobs = await must(openFileBlobs(base));
      log.steps = [];
      const ref = await must(blobs.put(bytesOf('evidence'), { durable: false }));
      expect(steps().filter(({ what }) => what === 'sync')).toEqual([]);
      await blobs.close();
      // The entry is made only after its bytes were synced; no directory is.
      expect(steps().filter(({ what }) => what === 'sync')).toHaveLength(1);
      const hex = ref.slice('sha256:'.length);
      const lost = missing(base, join(base, hex.slice(0, 2), hex.slice(2, 4), hex));
      expect(lost.filter((what) => what.startsWith('the bytes of'))).toEqual([]);
      expect(lost).not.toEqual([]);
    }));

  test('is made durable by a later put of the same bytes', () =>
    inTemporaryDirectory(async (base) => {
      const blobs = await must(openFileBlobs(base));
      await must(blobs.put(bytesOf('twice'), { durable: false }));
      expect(await putAndCheck(blobs, base, 'twice')).toEqual([]);
      await blobs.close();
    }));
});

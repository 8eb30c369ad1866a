// A store in memory that keeps its content from one opening to the next, and fails on demand: the simple counterpart of the
// store on LevelDB.
import { Buffer } from 'node:buffer';
import { refuse } from '../../../src/journal/refusal.ts';
import type { Change, OpenStore, Put, Store, StoreView } from '../../../src/journal/store.ts';

/** How a write fails: nothing reaches the disk, or everything does and only the acknowledgement is lost. */
export type WriteFault = 'lost' | 'applied';

export interface Faults {
  /** The fault of the n-th write (from 1), if any. */
  readonly write?: (nth: number) => WriteFault | null;
  /** Whether the n-th opening (from 1) fails. */
  readonly open?: (nth: number) => boolean;
}

export interface MemoryStore {
  readonly open: OpenStore;
  /** The stored keys (latin1) and values. */
  readonly disk: Map<string, Uint8Array>;
  readonly writes: () => number;
  /** Holds all writes back until the returned function is called. */
  readonly hold: () => () => void;
}

export function makeMemoryStore(faults: Faults = {}): MemoryStore {
  const disk = new Map<string, Uint8Array>();
  let writes = 0;
  let openings = 0;
  let gate: Promise<void> = Promise.resolve();

  function apply(changes: readonly Change[]): void {
    for (const { key, value } of changes) {
      if (value === null) disk.delete(textOf(key));
      else disk.set(textOf(key), value.slice());
    }
  }

  async function open(): Promise<Store> {
    openings += 1;
    if (faults.open?.(openings) === true) refuse('storage_failed', 'the opening was made to fail');
    let broken = false;
    return {
      write: async (changes) => {
        if (broken) throw new Error('a write after a failed one: the store was not opened again');
        writes += 1;
        const fault = faults.write?.(writes) ?? null;
        await gate;
        if (fault !== 'lost') apply(changes);
        if (fault === null) return;
        broken = true;
        refuse('storage_failed', 'the write was made to fail');
      },
      view: async (work) => work(viewOf(new Map(disk))),
      check: () => {},
      compact: async () => {},
      close: async () => {},
    };
  }

  return {
    open,
    disk,
    writes: () => writes,
    hold: () => {
      const { promise, release } = makeGate();
      gate = promise;
      return release;
    },
  };
}

function makeGate(): { readonly promise: Promise<void>; readonly release: () => void } {
  let release = (): void => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

const textOf = (key: Uint8Array): string => Buffer.from(key).toString('latin1');

function viewOf(disk: ReadonlyMap<string, Uint8Array>): StoreView {
  return {
    get: async (key) => disk.get(textOf(key)),
    getMany: async (keys) => keys.map((key) => disk.get(textOf(key))),
    scan: async (
      { gte, lt },
      { limit = Number.POSITIVE_INFINITY, bytesMax = Number.POSITIVE_INFINITY, reverse = false },
    ) => {
      const keys = [...disk.keys()].filter((key) => key >= textOf(gte) && key < textOf(lt)).sort();
      if (reverse) keys.reverse();
      const found: Put[] = [];
      let bytes = 0;
      for (const key of keys.slice(0, limit)) {
        const value = disk.get(key) ?? new Uint8Array();
        found.push({ key: Buffer.from(key, 'latin1'), value });
        bytes += value.length;
        if (bytes >= bytesMax) break;
      }
      return found;
    },
  };
}

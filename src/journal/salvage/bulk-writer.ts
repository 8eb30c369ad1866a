// Fills a store that has no readers yet, in writes of a bounded size.
import { REBUILD_WRITE_BYTES } from '../../../schemas/limits.ts';
import type { Put, Store } from '../store.ts';

export interface BulkWriter {
  add(...puts: readonly Put[]): void;
  /** Writes the added puts when they have reached REBUILD_WRITE_BYTES. */
  flushIfFull(): Promise<void>;
  /** Writes the added puts. */
  flush(): Promise<void>;
}

/** `beforeWrite` receives the number of bytes written so far. */
export function openBulkWriter(store: Store, beforeWrite: (writtenBytes: number) => Promise<void>): BulkWriter {
  let waiting: Put[] = [];
  let bytes = 0;
  let written = 0;

  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    await beforeWrite(written);
    await store.write(waiting);
    written += bytes;
    waiting = [];
    bytes = 0;
  }

  return {
    add(...puts) {
      waiting.push(...puts);
      for (const { key, value } of puts) bytes += key.length + value.length;
    },
    flushIfFull: () => (bytes < REBUILD_WRITE_BYTES ? Promise.resolve() : flush()),
    flush,
  };
}

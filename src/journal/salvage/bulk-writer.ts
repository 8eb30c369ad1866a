// Fills a store that has no readers yet, in writes of a bounded size.
import { REBUILD_WRITE_BYTES } from '../../../schemas/limits.ts';
import type { Change, Store } from '../store.ts';

export interface BulkWriter {
  add(...changes: readonly Change[]): void;
  /** Writes the added changes when they have reached REBUILD_WRITE_BYTES. */
  flushIfFull(): Promise<void>;
  /** Writes the added changes. */
  flush(): Promise<void>;
}

/** `beforeWrite` receives the number of bytes written so far. */
export function openBulkWriter(store: Store, beforeWrite: (writtenBytes: number) => Promise<void>): BulkWriter {
  let waiting: Change[] = [];
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
    add(...changes) {
      waiting.push(...changes);
      for (const { key, value } of changes) bytes += key.length + (value?.length ?? 0);
    },
    flushIfFull: () => (bytes < REBUILD_WRITE_BYTES ? Promise.resolve() : flush()),
    flush,
  };
}

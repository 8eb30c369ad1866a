// A store that can be closed and reopened while it has users. After a failed write the block offset of LevelDB's log writer
// may no longer match its file (a short write still advances the offset): recovery could then drop records that were
// written and acknowledged later. A write whose fsync failed may also reappear at the next opening. Reopening solves
// both: recovery reads what the file really contains, writes it to a table and begins a new log.
import { refuse } from './refusal.ts';
import type { OpenStore, Store } from './store.ts';

export interface StoreHandle {
  /**
   * Runs `work` on the open store; opens the store first when the last attempt failed. `closing` aborts when the store is
   * to be closed, which waits for `work`: work without a limit must end then.
   */
  use<T>(work: (store: Store, closing: AbortSignal) => Promise<T>): Promise<T>;
  /** Closes the store once its users are done, and opens it again. Must not be called inside `use`. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export async function openStoreHandle(open: OpenStore): Promise<StoreHandle> {
  let store: Store | null = await open();
  let users = 0;
  let whenUnused: (() => void) | null = null;
  let reopening: Promise<void> | null = null;
  let closed = false;
  let closing = new AbortController();

  const unused = (): Promise<void> =>
    new Promise((resolve) => {
      if (users === 0) resolve();
      else whenUnused = resolve;
    });

  async function shut(): Promise<void> {
    const last = store;
    store = null;
    closing.abort();
    closing = new AbortController();
    await unused();
    await last?.close();
  }

  function reopen(): Promise<void> {
    reopening ??= (async () => {
      try {
        await shut();
        if (closed) refuse('closing', 'the journal is closed');
        store = await open();
      } finally {
        reopening = null;
      }
    })();
    return reopening;
  }

  async function current(): Promise<Store> {
    for (;;) {
      if (closed) refuse('closing', 'the journal is closed');
      if (store !== null) return store;
      await reopen();
    }
  }

  return {
    use: async (work) => {
      const using = await current();
      users += 1;
      try {
        return await work(using, closing.signal);
      } finally {
        users -= 1;
        if (users === 0) whenUnused?.();
      }
    },
    reopen,
    close: async () => {
      closed = true;
      await reopening?.catch(() => {});
      await shut();
    },
  };
}

// Every entry of a store as of one moment, for a backup beside a live engine: entries that are written later are not in it.
import { Buffer } from 'node:buffer';
import { BACKUP_ENTRIES, READ_PAGE_BYTES } from '../../schemas/limits.ts';
import { TRAIL_KEY, WHOLE_RANGE } from './keys.ts';
import { refuse } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { KeyRange, Put } from './store.ts';

/**
 * Pages in the order of keys. The trail is left out: it describes the log of this store, not of another. A store that is to
 * be closed does not wait for the reader: its next page is refused as `closing`.
 */
export async function* storedEntries(handle: StoreHandle): AsyncGenerator<readonly Put[]> {
  const { scan, release } = await holdView(handle);
  try {
    for (let gte = WHOLE_RANGE.gte; ;) {
      const page = await scan({ gte, lt: WHOLE_RANGE.lt });
      const last = page.at(-1);
      if (last === undefined) return;
      yield page.filter(({ key }) => Buffer.compare(key, TRAIL_KEY) !== 0);
      gte = Buffer.concat([last.key, Buffer.of(0)]);
    }
  } finally {
    await release();
  }
}

interface HeldView {
  readonly scan: (range: KeyRange) => Promise<readonly Put[]>;
  readonly release: () => Promise<void>;
}

/** A view that stays open until it is released, or until the store is to be closed and no scan is running. */
function holdView(handle: StoreHandle): Promise<HeldView> {
  return new Promise((resolve, fail) => {
    const holding: Promise<void> = handle.use((store, closing) =>
      store.view(
        (view) =>
          new Promise<void>((done) => {
            let scanning: Promise<unknown> = Promise.resolve();
            const end = async (): Promise<void> => {
              await scanning;
              done();
            };
            const onClosing = (): void => void end();
            if (closing.aborted) onClosing();
            else closing.addEventListener('abort', onClosing, { once: true });
            resolve({
              scan: (range) => {
                if (closing.aborted) refuse('closing', 'the journal was closed, or opened anew; back up again');
                const scan = view.scan(range, { limit: BACKUP_ENTRIES, bytesMax: READ_PAGE_BYTES });
                scanning = scan.catch(() => undefined);
                return scan;
              },
              release: async () => {
                closing.removeEventListener('abort', onClosing);
                done();
                await holding;
              },
            });
          }),
      ),
    );
    holding.catch(fail);
  });
}

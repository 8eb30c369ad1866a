// Every entry of a store as of one moment, for a backup beside a live engine: entries that are written later are not in it.
import { Buffer } from 'node:buffer';
import { BACKUP_ENTRIES, READ_PAGE_BYTES } from '../../schemas/limits.ts';
import { TRAIL_KEY, WHOLE_RANGE } from './keys.ts';
import type { StoreHandle } from './store-handle.ts';
import type { Put, StoreView } from './store.ts';

/** Pages in the order of keys. The trail is left out: it describes the log of this store, not of another. */
export async function* storedEntries(handle: StoreHandle): AsyncGenerator<readonly Put[]> {
  const { view, release } = await holdView(handle);
  try {
    for (let gte = WHOLE_RANGE.gte; ;) {
      const range = { gte, lt: WHOLE_RANGE.lt };
      const page = await view.scan(range, { limit: BACKUP_ENTRIES, bytesMax: READ_PAGE_BYTES });
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
  readonly view: StoreView;
  readonly release: () => Promise<void>;
}

/** A view that stays open until it is released. */
function holdView(handle: StoreHandle): Promise<HeldView> {
  return new Promise((resolve, fail) => {
    const holding: Promise<void> = handle.use((store) =>
      store.view(
        (view) =>
          new Promise<void>((done) => {
            resolve({
              view,
              release: async () => {
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

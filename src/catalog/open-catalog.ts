// A catalog that is read again while a process runs: when it is asked to, and when its files change. A catalog with a fault is not
// used: what was there stays, and the faults are said.
import { watchPaths } from '../files/watch-paths.ts';
import { type Catalog, type CatalogFault, readCatalog } from './read-catalog.ts';

export interface OpenCatalog {
  /** The catalog in force. */
  current(): Catalog;
  /** Reads the files again now. With faults, the catalog in force stays. */
  reload(): Promise<Reloaded>;
  close(): Promise<void>;
}

export interface Reloaded {
  /** False: the catalog in force stays, because of these faults or because nothing changed. */
  readonly changed: boolean;
  readonly faults: readonly CatalogFault[];
  readonly catalog: Catalog;
}

export interface CatalogOptions {
  /** Absolute path of a file or a directory. */
  readonly path: string;
  /** Puts another catalog in force. */
  readonly apply: (catalog: Catalog) => Promise<void>;
  /** Called with the faults of a watch, when they are not those that were said before; none when they are mended. */
  readonly onFaults: (faults: readonly CatalogFault[]) => void;
  /** Gets what reading or `apply` throws in a watch. */
  readonly onError: (error: unknown) => void;
  readonly after: (ms: number, then: () => void) => () => void;
}

/** Null with faults when the catalog cannot be used. It is not applied: the caller begins with it. */
export async function openCatalog(options: CatalogOptions): Promise<OpenCatalog | readonly CatalogFault[]> {
  const { path, apply, onFaults, onError, after } = options;
  let current = await readCatalog(path, nextTurn);
  if (current.faults.length > 0) return current.faults;
  /** What to watch: also the files that have faults. */
  let { paths } = current;
  let reading: Promise<unknown> = Promise.resolve();
  let said = '[]';

  async function read(): Promise<Reloaded> {
    const next = await readCatalog(path, nextTurn);
    ({ paths } = next);
    const changed = next.faults.length === 0 && next.digest !== current.digest;
    if (changed) {
      await apply(next);
      current = next;
    }
    return { changed, faults: next.faults, catalog: current };
  }

  /** One at a time, so that an older catalog never replaces a newer one. */
  function reload(): Promise<Reloaded> {
    const next = reading.then(read);
    reading = next.catch(() => undefined);
    return next;
  }

  const watch = watchPaths({
    paths: () => paths,
    onChange: async () => {
      const { faults } = await reload();
      const now = JSON.stringify(faults);
      if (now !== said) onFaults(faults);
      said = now;
    },
    onError,
    after,
  });
  return { current: () => current, reload, close: () => watch.close() };
}

/** Between two files, other work of the process goes on. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

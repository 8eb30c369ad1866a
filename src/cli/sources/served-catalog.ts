// The catalog of an engine process: read before the engine opens, and put in force again when it changes.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ReloadedCatalog } from '../../../schemas/wire.ts';
import type { OpenCatalog } from '../../catalog/open-catalog.ts';
import type { CatalogFault } from '../../catalog/read-catalog.ts';
import { backgroundClock } from '../../clock.ts';
import type { Engine } from '../../engine/engine.ts';
import { whatFailed } from '../../files/file-failure.ts';
import { paint } from '../../shown/paint.ts';
import { CommandFailure, type Output } from '../output.ts';

/** Faults that a message repeats; `refold catalog check` lists all. */
const FAULTS_SHOWN = 8;

/** Null without a path. Fails when the catalog has faults: an engine does not start with a part of it. */
export async function openServedCatalog(
  path: string | undefined,
  output: Output,
  engine: () => Engine | null,
): Promise<OpenCatalog | null> {
  if (path === undefined) return null;
  const tell = (message: string): void => {
    output.line(paint.yellow(message));
    output.object({ event: 'notice', message });
  };
  // Loaded only where there is a catalog, with its reader of YAML.
  const { openCatalog } = await import('../../catalog/open-catalog.ts');
  const opened = await openCatalog({
    path,
    apply: async (catalog) => {
      await engine()?.setCatalog(catalog);
      output.object({ event: 'catalog', digest: catalog.digest, tools: catalog.tools.length });
      output.line(`catalog ${path}  ${catalog.tools.length} tools`);
    },
    onFaults: (faults) =>
      tell(faults.length === 0 ? 'the catalog has no faults any more' : `the catalog before stays: ${listed(faults)}`),
    onError: (error) => tell(`the catalog cannot be read again: ${whatFailed(error)}`),
    after: (ms, then) => backgroundClock.after(ms, then),
  });
  if (!('current' in opened)) throw new CommandFailure('catalog_invalid', `the catalog has faults: ${listed(opened)}`);
  return opened;
}

/** What a server answers a request to reload with. */
export function reloadOf(catalog: OpenCatalog | null): {
  reloadCatalog?: () => Promise<Either<Rejection, ReloadedCatalog>>;
} {
  if (catalog === null) return {};
  return {
    reloadCatalog: async () => {
      const { changed, faults, catalog: now } = await catalog.reload();
      if (faults.length > 0) return left(reject('catalog_invalid', faults[0]?.at ?? '', listed(faults)));
      return right({ changed, digest: now.digest, tools: now.tools.length });
    },
  };
}

function listed(faults: readonly CatalogFault[]): string {
  const shown = faults
    .slice(0, FAULTS_SHOWN)
    .map(({ file, at, message }) => `${file}${at === '' ? '' : ` at ${at}`}: ${message}`);
  const more = faults.length - shown.length;
  return `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

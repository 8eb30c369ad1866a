// Opens the stores of an engine: those of a data directory, or those in a database, whose code is loaded only for its URL.
import { join } from 'node:path';
import { left } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { openFileBlobs } from '../blobs/file-blobs.ts';
import { backgroundClock } from '../clock.ts';
import { makeDirectory } from '../files/directories.ts';
import { reasonOf } from '../files/file-failure.ts';
import { addOwnPlace } from '../files/own-places.ts';
import type { Journal } from '../journal/journal.ts';
import { describeTornTail } from '../journal/level/torn-tail.ts';
import { openLevelJournal } from '../journal/level-journal.ts';
import { type EpochStore, openFileEpochs } from './leases/epochs.ts';
import type { Metrics } from './metrics.ts';

export interface StoreOptions {
  readonly dataDir?: string;
  readonly journal?: string;
  readonly everyTable?: boolean;
  readonly tell?: (message: string) => void;
}

export interface EngineStores {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly epochs: EpochStore;
  /** What the operator should know about them. */
  readonly notices: readonly string[];
}

export function openStores(options: StoreOptions, metrics: Metrics): TE.TaskEither<Rejection, EngineStores> {
  const { dataDir, journal } = options;
  const onWrite = metrics.latency('refold_journal_write_seconds', 'Time of one synchronous write of the journal.');
  if (journal !== undefined) return openDatabase(journal, onWrite);
  if (dataDir !== undefined) return openDirectory(dataDir, options, onWrite);
  return TE.left(reject('invalid_shape', '', 'an engine needs a place for its sessions: give dataDir or journal'));
}

type OnWrite = (took: number) => void;

const openDatabase =
  (url: string, onWrite: OnWrite): TE.TaskEither<Rejection, EngineStores> =>
  async () => {
    const { openPostgresStores } = await import('../postgres/postgres-stores.ts');
    return await pipe(
      openPostgresStores(url, { clock: backgroundClock, onWrite }),
      TE.map((stores) => ({ ...stores, notices: [] })),
    )();
  };

const openDirectory =
  (dataDir: string, options: StoreOptions, onWrite: OnWrite): TE.TaskEither<Rejection, EngineStores> =>
  async () => {
    try {
      await makeDirectory(dataDir);
      addOwnPlace(dataDir);
    } catch (error) {
      const message = `cannot create the data directory ${dataDir}: ${reasonOf(error)}`;
      return left(reject('storage_failed', '/dataDir', message));
    }
    const { everyTable = false, tell = () => undefined } = options;
    return await pipe(
      openLevelJournal(join(dataDir, 'journal'), { everyTable, tell, onWrite }),
      TE.bindTo('journal'),
      TE.bind('blobs', ({ journal }) =>
        pipe(
          openFileBlobs(join(dataDir, 'blobs')),
          TE.tapError(() => TE.fromTask(() => journal.close())),
        ),
      ),
      TE.map(({ journal, blobs }) => ({
        journal,
        blobs,
        epochs: openFileEpochs(join(dataDir, 'epochs')),
        notices: [...journal.tornTails.map(describeTornTail), ...journal.notices],
      })),
    )();
  };

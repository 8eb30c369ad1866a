// The engine: sessions, leases and wakes over a journal and blobs. It owns its data directory, runs no tool and asks
// no model; whoever wants something of it, in process or over HTTP, does so through its client.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Either, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { decode, integer } from '../../schemas/codec.ts';
import { brand, makeSessionId } from '../../schemas/ids.ts';
import { LEASE_TTL_MS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { openFileBlobs } from '../blobs/file-blobs.ts';
import type { EngineClient } from '../client/client.ts';
import { makeDirectory } from '../files/directories.ts';
import { reasonOf, whatFailed } from '../files/file-failure.ts';
import type { Journal } from '../journal/journal.ts';
import { openLevelJournal } from '../journal/level-journal.ts';
import { describeTornTail } from '../journal/level/torn-tail.ts';
import { PACKAGE_VERSION } from '../version.ts';
import { type Clock, backgroundClock } from '../clock.ts';
import { type EpochStore, type Epochs, newMemoryEpochs, openEpochs, openFileEpochs } from './epochs.ts';
import { type ChangeNotices, newChangeNotices } from './follow.ts';
import { newInProcessClient } from './in-process-client.ts';
import { LeaseTable } from './lease-table.ts';
import { type SchemaCheck, newSchemaCheck } from './schema-check.ts';
import { Sessions } from './sessions.ts';
import { type SnapshotWriter, newSnapshotWriter } from './snapshot-writer.ts';
import { type Wakes, newWakes } from './wakes.ts';

export interface EngineOptions {
  /** Where the journal (`journal/`) and the blobs (`blobs/`) are; made when it is missing. */
  readonly dataDir: string;
  readonly clock?: Clock;
  /** How long a lease lasts without a heartbeat, in milliseconds, at least 1; 15,000 by default. */
  readonly leaseTtlMs?: number;
  /** Makes ids that nobody else makes; random ones by default. */
  readonly newId?: () => string;
  /** A number from 0 to below 1, for the jitter of retries. */
  readonly random?: () => number;
  /** How many sessions may be at work at a time, at least 1; 16,384 by default. */
  readonly atWorkMax?: number;
  /** Told what takes long while the engine opens: the rebuilding of a damaged journal. */
  readonly tell?: (message: string) => void;
}

/** The stores an engine runs on, when they are not those of a data directory. */
export interface EnginePorts extends Omit<EngineOptions, 'dataDir'> {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Holds arguments against schemas; engines that share one compile each schema once. */
  readonly checkSchema?: SchemaCheck;
  /** Where epochs of leases are put aside; in memory when absent. */
  readonly epochs?: EpochStore;
  /** After how many events at the earliest a session gets a snapshot. */
  readonly snapshotEveryEvents?: number;
}

export interface Engine {
  readonly client: EngineClient;
  /** Sessions that owe something and did not verify; the others go on. */
  readonly faults: readonly Rejection[];
  /** What the operator should know of the stores as they were found: last writes that a crash tore, and damaged files. */
  readonly notices: readonly string[];
  /** Refuses what is new, waits for what was begun, and closes the stores. */
  close(): Promise<void>;
}

/** Opens the engine over a data directory. One process at a time: a second one is refused. */
export const openEngine =
  (options: EngineOptions): TaskEither<Rejection, Engine> =>
  async () => {
    const fault = boundFault(options);
    if (fault !== null) return left(fault);
    try {
      await makeDirectory(options.dataDir);
    } catch (error) {
      return left(reject('storage_failed', '/dataDir', `cannot make ${options.dataDir}: ${reasonOf(error)}`));
    }
    const { tell } = options;
    const journal = await openLevelJournal(join(options.dataDir, 'journal'), tell === undefined ? {} : { tell })();
    if (isLeft(journal)) return journal;
    const blobs = await openFileBlobs(join(options.dataDir, 'blobs'))();
    if (isLeft(blobs)) {
      await journal.right.close();
      return blobs;
    }
    const notices = [...journal.right.tornTails.map(describeTornTail), ...journal.right.notices];
    const epochs = openFileEpochs(join(options.dataDir, 'epochs'));
    const started = await startEngine({ ...options, journal: journal.right, blobs: blobs.right, epochs })();
    return map((engine: Engine) => ({ ...engine, notices }))(started);
  };

/** Starts an engine over given stores, and closes them with it. */
export const startEngine =
  (ports: EnginePorts): TaskEither<Rejection, Engine> =>
  async () => {
    const { journal, blobs } = ports;
    const clock = ports.clock ?? backgroundClock;
    const notices = newChangeNotices();
    const refuse = async (rejection: Rejection): Promise<Either<Rejection, never>> => {
      await journal.close();
      await blobs.close();
      return left(rejection);
    };
    const fault = boundFault(ports);
    if (fault !== null) return await refuse(fault);
    const epochs = await openEpochs(ports.epochs ?? newMemoryEpochs()).catch(whatFailed);
    if (typeof epochs === 'string') {
      return await refuse(reject('storage_failed', '', `no epochs of leases can be put aside: ${epochs}`));
    }
    const { sessions, leases, wakes, snapshots } = assemble(ports, { clock, notices, epochs });
    const closed = new AbortController();
    const stop = async (): Promise<void> => {
      closed.abort();
      sessions.close();
      wakes.close();
      leases.close();
      notices.close();
      await snapshots.close();
      await epochs.close();
      await journal.close();
      await blobs.close();
    };
    let stopping: Promise<void> | null = null;
    const close = (): Promise<void> => (stopping ??= stop());
    const loaded = await sessions.loadOwing();
    if (isLeft(loaded)) {
      await close();
      return loaded;
    }
    const info = { name: 'refold' as const, version: PACKAGE_VERSION, started_at_ms: clock.now() };
    const client = newInProcessClient({ sessions, leases, journal, blobs, notices, info, closed: closed.signal });
    return right({ client, faults: loaded.right, notices: [], close });
  };

const BOUNDS = { leaseTtlMs: integer('milliseconds', 1), atWorkMax: integer('a number of sessions', 1) } as const;

/** A lease of no time would be lost before it is used, and an engine that takes no session would refuse all work. */
function boundFault(options: Pick<EngineOptions, keyof typeof BOUNDS>): Rejection | null {
  for (const name of ['leaseTtlMs', 'atWorkMax'] as const) {
    const decoded = options[name] === undefined ? null : decode(BOUNDS[name], options[name]);
    if (decoded !== null && isLeft(decoded)) return { ...decoded.left, path: `/${name}` };
  }
  return null;
}

interface Parts {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly wakes: Wakes;
  readonly snapshots: SnapshotWriter;
}

interface Tools {
  readonly clock: Clock;
  readonly notices: ChangeNotices;
  readonly epochs: Epochs;
}

function assemble(ports: EnginePorts, { clock, notices, epochs }: Tools): Parts {
  const { journal, blobs, leaseTtlMs, newId = randomUUID, random = Math.random } = ports;
  const leases = new LeaseTable({
    clock,
    epochs,
    ttlMs: leaseTtlMs ?? LEASE_TTL_MS,
    // What comes too late is refused, and what storage does not take comes again after another ttl.
    onCallLost: (session, lost) => void sessions.report(session, lost),
  });
  const wakes = newWakes(clock, (session, due_at_ms) => sessions.report(session, { kind: 'TimeReached', due_at_ms }));
  const snapshots = newSnapshotWriter(journal.snapshots, clock, ports.snapshotEveryEvents);
  const sessions: Sessions = new Sessions({
    newSessionId: () => makeSessionId(clock.now(), newId()),
    ...(ports.atWorkMax === undefined ? {} : { atWorkMax: ports.atWorkMax }),
    ports: {
      journal,
      blobs,
      clock,
      checkSchema: ports.checkSchema ?? newSchemaCheck(),
      checkOutput: newSchemaCheck(({ output_schema = {} }) => output_schema),
      drawJitter: () => 800 + Math.floor(random() * 401),
      newEventId: () => brand(newId()),
      refuseReport: (session, ingress, request) => leases.refuseReport(session, ingress, request),
    },
    onAdopted: (session, events) => {
      leases.update(session.id, session.state(), events);
      wakes.update(session.id, session.state());
      notices.ring(session.id);
      snapshots.consider(session);
    },
    onLoaded: (session) => {
      leases.load(session.id, session.state());
      wakes.update(session.id, session.state());
      notices.ring(session.id);
      // One that began at a wrong snapshot waits for its next event, so that `refold verify` still finds what was wrong.
      if (session.from.wrong.length === 0) snapshots.consider(session);
    },
    onLost: (id) => leases.suspend(id),
    onGone: (id) => leases.forget(id),
    isWatched: (id) => notices.isAwaited(id),
  });
  return { sessions, leases, wakes, snapshots };
}

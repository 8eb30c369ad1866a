// The engine: sessions, leases and wake timers over a journal and blobs. It owns its data directory, runs no tool and
// calls no model. Every caller, in process or over HTTP, uses it through its client.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
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
import { type Pause, pause } from '../turns.ts';
import { type EpochStore, type Epochs, newMemoryEpochs, openEpochs, openFileEpochs } from './leases/epochs.ts';
import { type ChangeNotices, newChangeNotices } from './follow.ts';
import { newInProcessClient } from './in-process-client.ts';
import { refuseAsBridge } from './operator-facts.ts';
import { LeaseTable } from './leases/lease-table.ts';
import { type SchemaCheck, newSchemaCheck } from './edge/schema-check.ts';
import { Sessions } from './sessions/sessions.ts';
import { type SnapshotWriter, newSnapshotWriter } from './sessions/snapshot-writer.ts';
import { Wakes } from './sessions/wakes.ts';

export interface EngineOptions {
  /** The directory of the journal (`journal/`) and the blobs (`blobs/`); created when it does not exist. */
  readonly dataDir: string;
  readonly clock?: Clock;
  /** How long a lease lasts without a heartbeat, in milliseconds, at least 1; 15,000 by default. */
  readonly leaseTtlMs?: number;
  /** Makes unique ids; random ones by default. */
  readonly newId?: () => string;
  /** A number from 0 to below 1, for the jitter of retries. */
  readonly random?: () => number;
  /** How many sessions may be active at a time, at least 1; 16,384 by default. Any number may be idle. */
  readonly activeSessionsMax?: number;
  /** Called with a message when opening takes long: while a damaged journal is rebuilt. */
  readonly tell?: (message: string) => void;
}

/** The stores of an engine, when they are not those of a data directory. */
export interface EnginePorts extends Omit<EngineOptions, 'dataDir'> {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Checks arguments against schemas; engines that share one compile each schema once. */
  readonly checkSchema?: SchemaCheck;
  /** Lets the event loop turn during long work; by default when a turn has lasted long. */
  readonly pause?: Pause;
  /** Where lease epochs are reserved; in memory when absent. */
  readonly epochs?: EpochStore;
  /** The minimum number of events between two snapshots of a session. */
  readonly snapshotEveryEvents?: number;
}

export interface Engine {
  readonly client: EngineClient;
  /** The faults of sessions that have work for a bridge and could not be loaded; the other sessions are served. */
  readonly faults: readonly Rejection[];
  /** What the operator should know about the stores when they were opened: torn last writes, and damaged files. */
  readonly notices: readonly string[];
  /** Refuses new requests, waits for running ones, and closes the stores. */
  close(): Promise<void>;
}

/** Opens the engine over a data directory. Only one process at a time may open it; a second one is refused as `in_use`. */
export const openEngine =
  (options: EngineOptions): TE.TaskEither<Rejection, Engine> =>
  async () => {
    const fault = boundFault(options);
    if (fault !== null) return left(fault);
    try {
      await makeDirectory(options.dataDir);
    } catch (error) {
      return left(
        reject('storage_failed', '/dataDir', `cannot create the data directory ${options.dataDir}: ${reasonOf(error)}`),
      );
    }
    const { dataDir, tell } = options;
    return await pipe(
      openLevelJournal(join(dataDir, 'journal'), tell === undefined ? {} : { tell }),
      TE.bindTo('journal'),
      TE.bind('blobs', ({ journal }) =>
        pipe(
          openFileBlobs(join(dataDir, 'blobs')),
          TE.tapError(() => TE.fromTask(() => journal.close())),
        ),
      ),
      TE.chain(({ journal, blobs }) => {
        const epochs = openFileEpochs(join(dataDir, 'epochs'));
        const notices = [...journal.tornTails.map(describeTornTail), ...journal.notices];
        return pipe(
          startEngine({ ...options, journal, blobs, epochs }),
          TE.map((engine) => ({ ...engine, notices })),
        );
      }),
    )();
  };

/** Starts an engine over given stores, which it closes when it closes. */
export const startEngine =
  (ports: EnginePorts): TE.TaskEither<Rejection, Engine> =>
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
      return await refuse(reject('storage_failed', '', `cannot reserve lease epochs: ${epochs}`));
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
    wakes.start();
    const info = { name: 'refold' as const, version: PACKAGE_VERSION, started_at_ms: clock.now() };
    const rest = ports.pause ?? pause;
    const client = newInProcessClient({
      sessions,
      leases,
      journal,
      blobs,
      notices,
      info,
      closed: closed.signal,
      pause: rest,
    });
    return right({ client, faults: loaded.right, notices: [], close });
  };

const BOUNDS = {
  leaseTtlMs: integer('milliseconds', 1),
  activeSessionsMax: integer('a number of sessions', 1),
} as const;

/** A lease of 0 ms would be lost before it is used, and an engine that allows no active session could do no work. */
function boundFault(options: Pick<EngineOptions, keyof typeof BOUNDS>): Rejection | null {
  for (const name of ['leaseTtlMs', 'activeSessionsMax'] as const) {
    const decoded = options[name] === undefined ? null : decode(BOUNDS[name], options[name]);
    if (decoded !== null && isLeft(decoded)) return { ...decoded.left, path: `/${name}` };
  }
  return null;
}

interface EngineParts {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly wakes: Wakes;
  readonly snapshots: SnapshotWriter;
}

interface EngineServices {
  readonly clock: Clock;
  readonly notices: ChangeNotices;
  readonly epochs: Epochs;
}

function assemble(ports: EnginePorts, { clock, notices, epochs }: EngineServices): EngineParts {
  const { journal, blobs, leaseTtlMs, newId = randomUUID, random = Math.random } = ports;
  const leases = new LeaseTable({
    clock,
    epochs,
    ttlMs: leaseTtlMs ?? LEASE_TTL_MS,
    // A report that comes too late is refused; one that storage does not accept is sent again after another ttl.
    onCallLost: (session, lost) => void sessions.report(session, lost),
  });
  const wakes = new Wakes({
    clock,
    journal,
    report: (session, due_at_ms) => sessions.report(session, { kind: 'TimeReached', due_at_ms }),
  });
  const snapshots = newSnapshotWriter(journal.snapshots, clock, ports.snapshotEveryEvents);
  const sessions: Sessions = new Sessions({
    newSessionId: () => makeSessionId(clock.now(), newId()),
    ...(ports.activeSessionsMax === undefined ? {} : { activeMax: ports.activeSessionsMax }),
    ports: {
      journal,
      blobs,
      clock,
      checkSchema: ports.checkSchema ?? newSchemaCheck(),
      checkOutput: newSchemaCheck(({ output_schema = {} }) => output_schema),
      drawJitter: () => 800 + Math.floor(random() * 401),
      newEventId: () => brand(newId()),
      pause: ports.pause ?? pause,
      refuseReport: (session, ingress, request) =>
        refuseAsBridge(ingress, request) ?? leases.refuseReport(session, ingress, request),
    },
    onAdopted: (session, events) => {
      leases.update(session.id, session.state(), events);
      wakes.update(session.id, session.state());
      notices.notify(session.id);
      snapshots.consider(session);
    },
    onLoaded: (session) => {
      leases.load(session.id, session.state());
      wakes.update(session.id, session.state());
      notices.notify(session.id);
      // A session with a wrong snapshot gets its next one only after an event, so that `refold verify` can still find it.
      if (session.from.wrong.length === 0) snapshots.consider(session);
    },
    onLost: (id) => leases.suspend(id),
    onGone: (id) => leases.forget(id),
    onEvicted: (id) => leases.suspend(id),
    isHeld: (id) => leases.holdsAny(id),
  });
  return { sessions, leases, wakes, snapshots };
}

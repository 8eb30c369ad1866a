// The engine: sessions, leases and wake timers over a journal and blobs. It owns its data directory, runs no tool and
// calls no model. Every caller, in process or over HTTP, uses it through its client.
import { randomUUID } from 'node:crypto';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { OPERATOR } from '../../schemas/access.ts';
import { decode, integer } from '../../schemas/codec.ts';
import { brand, makeSessionId } from '../../schemas/ids.ts';
import { ENGINE_DRAIN_LOOK_MS, EPOCHS_RESERVED, LEASE_TTL_MS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EngineClient } from '../client/client.ts';
import { withAccess } from '../client/with-access.ts';
import { whatFailed } from '../files/file-failure.ts';
import type { Journal } from '../journal/journal.ts';
import { owesBridge } from '../core/owed/owing.ts';
import { PACKAGE_VERSION } from '../version.ts';
import { type Clock, backgroundClock, steadyClock } from '../clock.ts';
import { type Pause, pause } from '../turns.ts';
import { type EpochStore, type Epochs, newMemoryEpochs, openEpochs } from './leases/epochs.ts';
import { type TellFault, tellError, tellOnce } from './faults.ts';
import { type CatalogFollow, type CatalogTools, newCatalogFollow } from './catalog-follow.ts';
import { clockFault } from './clock-fault.ts';
import { blobsWithPages } from './blobs-with-pages.ts';
import { type Deltas, newDeltas } from './deltas.ts';
import { type ChangeNotices, newChangeNotices } from './follow.ts';
import { newInProcessClient } from './in-process-client.ts';
import { LeaseTable } from './leases/lease-table.ts';
import { type SchemaCheck, newSchemaCheck } from './edge/schema-check.ts';
import { Sessions } from './sessions/sessions.ts';
import { type SnapshotWriter, newSnapshotWriter } from './sessions/snapshot-writer.ts';
import { SessionTimes } from './edge/session-times.ts';
import { measureBlobs, measureClient, measureJournal } from './measured.ts';
import { addGauges } from './gauges.ts';
import { type Metrics, newMetrics } from './metrics.ts';
import { openStores } from './open-stores.ts';
import { Wakes } from './sessions/wakes.ts';

export interface EngineOptions {
  /** The directory of the journal (`journal/`) and the blobs (`blobs/`); created when it does not exist. */
  readonly dataDir?: string;
  /**
   * `postgres://USER:PASSWORD@HOST:5432/DATABASE`: journal, blobs and lease epochs are in this database, and the engine keeps
   * nothing in a directory. Made with `refold journal init`; needs the package `pg`.
   */
  readonly journal?: string;
  /** Reads the time and sets timers; the clock of the system by default. */
  readonly clock?: Clock;
  /** How long a lease lasts without a heartbeat, in milliseconds, at least 1; 15,000 by default. */
  readonly leaseTtlMs?: number;
  /** Makes unique ids; random ones by default. */
  readonly newId?: () => string;
  /** A number from 0 to below 1, for the jitter of retries. */
  readonly random?: () => number;
  /** How many sessions may be active at a time, at least 1; 16,384 by default. Any number may be idle. */
  readonly activeSessionsMax?: number;
  /**
   * Read every table of the journal before the engine answers. Otherwise tables that were verified within the last day, and
   * that nobody wrote to since, are read only after it.
   */
  readonly everyTable?: boolean;
  /** The tools that sessions created from now on get and follow; none by default. */
  readonly catalog?: CatalogTools;
  /** Called with a message when opening takes long: while a damaged journal is rebuilt. */
  readonly tell?: (message: string) => void;
  /** Called once for each fault of the engine's own: what it could not read or write, and errors inside it. */
  readonly tellFault?: TellFault;
}

/** The stores of an engine, when they are not those of a data directory. */
export interface EnginePorts extends Omit<EngineOptions, 'dataDir' | 'journal' | 'everyTable'> {
  /** Where the streams are stored. */
  readonly journal: Journal;
  /** Where texts and files are stored, by digest. */
  readonly blobs: Blobs;
  /** Checks arguments against schemas; engines that share one compile each schema once. */
  readonly checkSchema?: SchemaCheck;
  /** Lets the event loop turn during long work; by default when a turn has lasted long. */
  readonly pause?: Pause;
  /** Where lease epochs are reserved; in memory when absent. */
  readonly epochs?: EpochStore;
  /** Where the engine counts what it does. */
  readonly metrics?: Metrics;
  /** The minimum number of events between two snapshots of a session. */
  readonly snapshotEveryEvents?: number;
  /** Most bytes of blobs that clients have put and no event names; UNNAMED_BLOB_BYTES_MAX by default. */
  readonly unnamedBlobBytesMax?: number;
}

export interface Engine {
  /** The client of the application that opened the engine, with the scope `operator`; `withAccess` narrows it. */
  readonly client: EngineClient;
  /** The faults of sessions that have work for a bridge and could not be loaded; the other sessions are served. */
  readonly faults: readonly Rejection[];
  /** What the operator should know about the stores when they were opened: torn last writes, and damaged files. */
  readonly notices: readonly string[];
  /** Why the engine takes no work now: it drains (`closing`), or storage does not take writes. */
  ready(): Promise<Either<Rejection, void>>;
  /** Its figures, in Prometheus text format 0.0.4. */
  metrics(): string;
  /** Another catalog. Sessions that follow it get it before their next generate; resolves when those with work have it. */
  setCatalog(catalog: CatalogTools): Promise<void>;
  /**
   * Takes no new sessions, runs and leases, and waits until bridges have reported on what they hold, for at most this time
   * or until `hurry` aborts.
   */
  drain(withinMs: number, hurry?: AbortSignal): Promise<void>;
  /** Refuses new requests, waits for running ones, and closes the stores. */
  close(): Promise<void>;
}

/**
 * Opens the engine over a data directory, or over a database. Only one process at a time may open it; a second one is refused
 * as `in_use`.
 */
export const openEngine =
  (options: EngineOptions): TE.TaskEither<Rejection, Engine> =>
  async () => {
    const fault = boundFault(options);
    if (fault !== null) return left(fault);
    const metrics = newMetrics();
    return await pipe(
      openStores(options, metrics),
      TE.chain(({ notices, ...stores }) =>
        pipe(
          startEngine({ ...options, ...stores, metrics }),
          TE.map((engine) => ({ ...engine, notices })),
        ),
      ),
    )();
  };

/** Starts an engine over given stores, which it closes when it closes. */
export const startEngine =
  (ports: EnginePorts): TE.TaskEither<Rejection, Engine> =>
  async () => {
    const { metrics = newMetrics() } = ports;
    const journal = measureJournal(ports.journal, metrics);
    const files = measureBlobs(ports.blobs, metrics);
    const blobs = blobsWithPages(files, journal);
    const clock = steadyClock(ports.clock ?? backgroundClock);
    const notices = newChangeNotices();
    const deltas = newDeltas();
    const refuse = async (rejection: Rejection): Promise<Either<Rejection, never>> => {
      await journal.close();
      await blobs.close();
      return left(rejection);
    };
    const fault = boundFault(ports) ?? clockFault(clock);
    if (fault !== null) return await refuse(fault);
    const tellFault = tellOnce(ports.tellFault ?? (() => undefined));
    const onFault = (error: unknown): void => tellError(tellFault, null, 'reserving lease epochs', error);
    const store = ports.epochs ?? newMemoryEpochs();
    const epochs = await openEpochs(store, EPOCHS_RESERVED, onFault).catch(whatFailed);
    if (typeof epochs === 'string') {
      return await refuse(reject('storage_failed', '', `cannot reserve lease epochs: ${epochs}`));
    }
    const catalog = newCatalogFollow({ blobs, tellFault }, ports.catalog ?? null);
    const { sessions, leases, wakes, snapshots } = assemble(
      { ...ports, journal, blobs },
      { clock, notices, deltas, epochs, tellFault, follow: catalog },
    );
    const closed = new AbortController();
    const draining = new AbortController();
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
    const ending = { closed: closed.signal, draining: draining.signal };
    const shared = { sessions, leases, journal, blobs, files, notices, deltas, info, tellFault };
    const { unnamedBlobBytesMax } = ports;
    const whole = newInProcessClient({ ...shared, pause: ports.pause ?? pause, ...ending, unnamedBlobBytesMax });
    addGauges(metrics, { sessions, leases, startedAtMs: info.started_at_ms, draining: draining.signal });
    return right({
      client: withAccess(measureClient(whole, metrics), OPERATOR),
      faults: loaded.right,
      notices: [],
      ready: newReady(draining.signal, journal, blobs),
      metrics: () => metrics.text(),
      setCatalog: (next) => (catalog.set(next), sessions.freshenOwing()),
      drain: newDrain(draining, leases, clock),
      close,
    });
  };

const newReady = (draining: AbortSignal, journal: Journal, blobs: Blobs): Engine['ready'] =>
  pipe(
    () => Promise.resolve(draining.aborted ? left(reject('closing', '', 'the engine is stopping')) : right(undefined)),
    TE.chain(() => journal.probe()),
    TE.chain(() => blobs.probe()),
  );

/** Takes no new work from now on, and waits until bridges have reported. */
const newDrain =
  (draining: AbortController, leases: LeaseTable, clock: Clock): Engine['drain'] =>
  async (withinMs, hurry) => {
    draining.abort();
    leases.drain();
    await untilReported(leases, clock, { withinMs, ...(hurry === undefined ? {} : { hurry }) });
  };

interface Draining {
  readonly withinMs: number;
  readonly hurry?: AbortSignal;
}

/** Resolves when bridges hold nothing, when the time is over, or when hurried. */
function untilReported(leases: LeaseTable, clock: Clock, { withinMs, hurry }: Draining): Promise<void> {
  // Not by the time of day, which may be set meanwhile.
  const endMs = clock.elapsed() + withinMs;
  return new Promise((resolve) => {
    const look = (): void => {
      if (leases.counts().held === 0 || clock.elapsed() >= endMs || hurry?.aborted === true) resolve();
      else clock.after(ENGINE_DRAIN_LOOK_MS, look);
    };
    look();
  });
}

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
  readonly deltas: Deltas;
  readonly epochs: Epochs;
  readonly tellFault: TellFault;
  readonly follow: CatalogFollow;
}

function assemble(ports: EnginePorts, services: EngineServices): EngineParts {
  const { clock, notices, deltas, epochs, tellFault, follow } = services;
  const { journal, blobs, leaseTtlMs, newId = randomUUID, random = Math.random } = ports;
  const leases = new LeaseTable({
    clock,
    epochs,
    ttlMs: leaseTtlMs ?? LEASE_TTL_MS,
    pause: ports.pause ?? pause,
    // A report that comes too late is refused; one that storage does not accept is sent again after another ttl.
    onCallLost: (session, lost) => void sessions.report(session, lost),
    onAnswerLost: (session, lost) => void sessions.report(session, lost),
  });
  const times = new SessionTimes(clock);
  const wakes = new Wakes({
    clock,
    times,
    journal,
    tellFault,
    load: async (session) => void (await sessions.get(session)),
    report: (session, due_at_ms) => sessions.report(session, { kind: 'TimeReached', due_at_ms }),
  });
  const snapshots = newSnapshotWriter(journal.snapshots, { clock, tellFault }, ports.snapshotEveryEvents);
  const sessions: Sessions = new Sessions({
    beforeDelete: (session) => snapshots.forget(session),
    catalog: follow,
    newSessionId: () => makeSessionId(clock.now(), newId()),
    ...(ports.activeSessionsMax === undefined ? {} : { activeMax: ports.activeSessionsMax }),
    ports: {
      journal,
      blobs,
      clock,
      times,
      tellFault,
      checkSchema: ports.checkSchema ?? newSchemaCheck(),
      checkOutput: newSchemaCheck(({ output_schema = {} }) => output_schema),
      drawJitter: () => 800 + Math.floor(random() * 401),
      newEventId: () => brand(newId()),
      pause: ports.pause ?? pause,
      refuseReport: (session, ingress, request) => leases.refuseReport(session, ingress, request),
    },
    onAdopted: (session, events) => {
      leases.update(session.id, session.state(), events);
      wakes.update(session.id, session.state());
      deltas.update(session.id, session.state(), events);
      notices.notify(session.id);
      snapshots.consider(session);
    },
    onLoaded: (session) => {
      leases.load(session.id, session.state());
      wakes.update(session.id, session.state());
      notices.notify(session.id);
      if (owesBridge(session.state())) void follow.freshen(session);
      // A session with a wrong snapshot gets its next one only after an event, so that `refold verify` can still find it.
      if (session.from.wrong.length === 0) snapshots.consider(session);
    },
    onLost: (id) => leases.suspend(id),
    onGone: (id) => {
      leases.forget(id);
      deltas.forget(id);
      notices.notify(id);
    },
    onEvicted: (id) => leases.suspend(id),
    isHeld: (id) => leases.holdsAny(id),
  });
  return { sessions, leases, wakes, snapshots };
}

// The disk of a simulated world: an in-memory journal and blobs that outlive the engines opened over them. A write becomes
// durable some time after the request and is answered some time after that. An engine that dies in between gets no answer,
// whether the write happened or not.
import { type Either, isRight, left } from 'fp-ts/lib/Either.js';
import type { SessionId } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { openMemoryBlobs } from '../blobs/memory-blobs.ts';
import type { Journal, JournalCommit, StoredPackage } from '../journal/journal.ts';
import { openMemoryJournal } from '../journal/memory-journal.ts';
import type { StoredOrigin } from './laws/stored-session.ts';
import type { DiskFault } from './scenario.ts';
import { type ProcessClock, type SimTime, never } from './sim-time.ts';

export interface SimDisk {
  /** The stores as one engine process sees them. */
  open(process: ProcessClock): { readonly journal: Journal; readonly blobs: Blobs };
}

interface SimDiskOptions {
  readonly time: SimTime;
  readonly faults: readonly DiskFault[];
  readonly onCreated: (session: SessionId, origin: StoredOrigin) => void;
  /** Called for each fault of a write. */
  readonly onFault: () => void;
  /** Called when commits become durable. */
  readonly onDurable: (session: SessionId, commits: readonly JournalCommit[]) => void;
}

type Answer = Either<Rejection, unknown>;

export function newSimDisk({ time, faults, onFault, onCreated, onDurable }: SimDiskOptions): SimDisk {
  const journal = openMemoryJournal();
  const blobs = openMemoryBlobs();
  const faultOf = new Map(faults.map((fault) => [fault.nth, fault]));
  let writes = 0;

  function written(name: string, args: readonly unknown[]): void {
    const session = args[0] as SessionId;
    if (name === 'create') onCreated(session, { genesis: args[1] as string, tool_package: args[2] as StoredPackage });
    if (name === 'append') onDurable(session, args[1] as readonly JournalCommit[]);
  }

  async function through(process: ProcessClock, { name, args, call }: Asked): Promise<Answer> {
    if (process.isDead()) return await never();
    const fault = WRITES.has(name) ? faultOf.get((writes += 1)) : undefined;
    if (fault !== undefined) onFault();
    if (fault?.what === 'refused') return left(reject('storage_failed', '', 'the disk refused'));
    if (fault?.what === 'unknown') return left(reject('storage_unknown', '', 'the disk did not answer'));
    if (fault?.what === 'slow') await time.sleep(fault.ms);
    if (process.isDead()) return await never();
    const answer = await call();
    if (isRight(answer)) written(name, args);
    if (fault?.what === 'lost_ack') return left(reject('storage_unknown', '', 'the answer of the disk was lost'));
    if (fault?.what === 'slow') await time.sleep(fault.ms);
    await process.awake();
    return answer;
  }

  return {
    open: (process) => ({
      journal: wrapPort(journal, (asked) => through(process, asked)),
      blobs: wrapPort(blobs, (asked) => through(process, asked)),
    }),
  };
}

const WRITES: ReadonlySet<string> = new Set(['create', 'append', 'put']);

interface Asked {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly call: () => Promise<Answer>;
}

/** The same port, with each of its tasks run through `through`. Closing it leaves the wrapped port open. */
function wrapPort<P extends object>(port: P, through: (asked: Asked) => Promise<Answer>): P {
  const wrapped = Object.entries(port).map(([name, member]: [string, unknown]) => {
    if (typeof member !== 'function') return [name, member];
    const method = (...args: unknown[]): unknown => {
      if (name === 'close') return Promise.resolve();
      const made = (member as (...args: unknown[]) => unknown)(...args);
      return typeof made === 'function' ? () => through({ name, args, call: made as Asked['call'] }) : made;
    };
    return [name, method];
  });
  return Object.fromEntries(wrapped) as P;
}

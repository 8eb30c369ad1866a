// The sessions in memory: each is loaded when it is first used, loaded again when it is unknown whether a failed
// write was recorded, and evicted when it is idle and others were used since.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { LOADED_TOGETHER, RETRY_MS } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { owesBridge } from '../../core/owed/owing.ts';
import type { SessionStatus } from '../../../schemas/session-head.ts';
import { statusOf } from '../../core/status.ts';
import { openKeyedWork } from '../../blobs/keyed-work.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Pause } from '../../turns.ts';
import { type TellFault, isTransient, stepFault, tellError, writeFault } from '../faults.ts';
import { LiveSession, type SessionPorts } from '../append/live-session.ts';
import { type LoadedSession, loadSession } from './load-session.ts';
import { SessionActivity } from './session-activity.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface CacheOptions {
  readonly ports: Omit<SessionPorts, 'onLost' | 'onAdopted' | 'refuseActive'>;
  /** How many sessions may be active. */
  readonly activeMax?: number;
  readonly onLoaded: (session: LiveSession) => void;
  readonly onAdopted: (session: LiveSession, events: readonly IngressEvent[]) => void;
  /** The state of a session is in doubt; it is being loaded again. */
  readonly onLost: (id: SessionId) => void;
  /** The session cannot be loaded again. */
  readonly onGone: (id: SessionId) => void;
  /** An idle session left memory. */
  readonly onEvicted: (id: SessionId) => void;
  /** Whether a bridge holds a lease on an effect of this session. */
  readonly isHeld: (id: SessionId) => boolean;
}

interface Entry {
  readonly loading: Answer<LiveSession>;
  session: LiveSession | null;
}

export class SessionCache {
  readonly activity: SessionActivity;
  readonly #options: CacheOptions;
  readonly #ports: SessionPorts;
  readonly #entries = new Map<SessionId, Entry>();
  /** While the store reads for one session, another one is folded; further loads wait, in order. */
  readonly #loads = openKeyedWork(LOADED_TOGETHER);
  #closed = false;

  constructor(options: CacheOptions) {
    this.#options = options;
    const { isHeld, activeMax } = options;
    // A run that is paused while its model answers still has its lease.
    this.activity = new SessionActivity((id) => this.inMemory(id)?.isIdle() !== false && !isHeld(id), activeMax);
    this.#ports = {
      ...options.ports,
      refuseActive: (id) => this.activity.refuseActive(id),
      onAdopted: (session, events) => {
        options.onAdopted(session, events);
        this.#updateActivity(session);
      },
      onLost: ({ id }) => {
        this.#entries.delete(id);
        this.activity.unload(id);
        options.onLost(id);
        void this.#reload(id);
      },
    };
  }

  get(id: SessionId): Answer<LiveSession> {
    const known = this.#entries.get(id);
    if (known !== undefined) {
      this.activity.touch(id);
      return known.loading;
    }
    const loading = this.#load(id);
    this.#entries.set(id, { loading, session: null });
    return loading;
  }

  /** The session when it is loaded, else null. */
  inMemory(id: SessionId): LiveSession | null {
    return this.#entries.get(id)?.session ?? null;
  }

  /** The sessions in memory that have work for a bridge. */
  owing(): readonly LiveSession[] {
    return [...this.#entries.values()].flatMap(({ session }) =>
      session !== null && owesBridge(session.state()) ? [session] : [],
    );
  }

  /** How many sessions in memory have each status, and how many have work for a bridge. */
  counts(): { readonly byStatus: ReadonlyMap<string, number>; readonly owing: number } {
    const byStatus = new Map<string, number>(STATUSES.map((status) => [status, 0]));
    let owing = 0;
    for (const { session } of this.#entries.values()) {
      if (session === null) continue;
      const state = session.state();
      const status = statusOf(state);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      if (owesBridge(state)) owing += 1;
    }
    return { byStatus, owing };
  }

  /** Loads a session that owes something; the fault when it cannot be loaded now or ever. */
  async loadOwing(id: SessionId): Promise<Rejection | null> {
    const loaded = await this.get(id);
    if (!isLeft(loaded)) return null;
    if (isTransient(loaded.left.code)) this.#reloadLater(id);
    return loaded.left;
  }

  /** Waits for a load that began before the session was stored completely, so that no later caller gets its refusal. */
  async awaitEarlierLoad(id: SessionId): Promise<void> {
    await this.#entries.get(id)?.loading;
  }

  /** Keeps a session that was just created, so that its first use reads nothing. */
  async addCreated(created: LoadedSession): Promise<void> {
    const id = created.genesis.session_id;
    await this.awaitEarlierLoad(id);
    if (this.#closed || this.#entries.has(id)) return;
    const session = new LiveSession(created, this.#ports);
    this.#entries.set(id, { loading: Promise.resolve(right(session)), session });
    this.#options.onLoaded(session);
    this.#updateActivity(session);
  }

  /**
   * Takes an idle session out of memory for `work`, which deletes it; every other caller waits until that has ended. Refused
   * as `session_busy` when the session has work. A damaged session cannot be loaded: `work` gets null for it.
   */
  async remove<T>(id: SessionId, work: (session: LiveSession | null) => Answer<T>): Answer<T> {
    const loaded = await this.get(id);
    if (isLeft(loaded) && loaded.left.code !== 'damaged') return loaded;
    const session = isLeft(loaded) ? null : loaded.right;
    const refusal = session === null ? this.#refuseDamagedRemoval(id) : this.#refuseRemoval(session);
    if (refusal !== null) return left(refusal);
    session?.retire();
    this.activity.unload(id);
    this.#options.onEvicted(id);
    const removing = work(session).catch((): Either<Rejection, T> => left(writeFault()));
    this.#entries.set(id, { loading: removing.then(() => this.#load(id)), session: null });
    const removed = await removing;
    if (!isLeft(removed)) {
      this.activity.forget(id);
      this.#options.onGone(id);
    }
    return removed;
  }

  #refuseDamagedRemoval(id: SessionId): Rejection | null {
    // Another caller may load it again, or delete it.
    if (this.#entries.has(id)) return busy(id, 'is being loaded again; try again');
    return this.#options.isHeld(id) ? busy(id, 'is held by a bridge; wait until it has reported') : null;
  }

  #refuseRemoval(session: LiveSession): Rejection | null {
    const { id } = session;
    if (this.inMemory(id) !== session) return busy(id, 'is being loaded again; try again');
    const status = statusOf(session.state());
    if (status !== 'idle') return busy(id, `has a run (${status}); end it: refold interrupt ${id}`);
    if (owesBridge(session.state())) return busy(id, 'has an undo or a detached command; wait until it has ended');
    if (!session.isIdle()) return busy(id, 'is being written to; try again');
    return this.#options.isHeld(id) ? busy(id, 'is held by a bridge; wait until it has reported') : null;
  }

  isClosed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
  }

  async #load(id: SessionId): Answer<LiveSession> {
    const loaded = await this.#loads.run(id, () => loadSafely(this.#ports, id));
    const entry = this.#entries.get(id);
    if (isLeft(loaded)) {
      this.#entries.delete(id);
      return loaded;
    }
    const session = new LiveSession(loaded.right, this.#ports);
    if (entry !== undefined) entry.session = session;
    this.#options.onLoaded(session);
    this.#updateActivity(session);
    return right(session);
  }

  #updateActivity(session: LiveSession): void {
    for (const id of this.activity.update(session.id, owesBridge(session.state()))) {
      const session = this.inMemory(id);
      session?.retire();
      this.#entries.delete(id);
      if (session !== null) this.#options.onEvicted(id);
    }
  }

  /** Loads a session again, repeatedly until storage answers, so that its effects are owed again. */
  async #reload(id: SessionId): Promise<void> {
    if (this.#closed) return;
    const again = await this.get(id);
    if (!isLeft(again)) return;
    this.#ports.tellFault({ session_id: id, doing: 'loading it again', reason: again.left.message });
    if (isTransient(again.left.code)) {
      this.#reloadLater(id);
      return;
    }
    this.activity.forget(id);
    this.#options.onGone(id);
  }

  #reloadLater(id: SessionId): void {
    this.#ports.clock.after(RETRY_MS, () => void this.#reload(id));
  }
}

interface LoadPorts {
  readonly journal: Journal;
  readonly pause: Pause;
  readonly tellFault: TellFault;
}
const STATUSES: readonly SessionStatus[] = ['idle', 'running', 'waiting', 'requires_action', 'paused'];

const busy = (id: SessionId, why: string): Rejection => reject('session_busy', '', `session ${id} ${why}`);

// A journal that throws instead of refusing has an internal error, which must not stop the engine.
async function loadSafely({ journal, pause, tellFault }: LoadPorts, id: SessionId): Answer<LoadedSession> {
  try {
    return await loadSession(journal, pause, id);
  } catch (error) {
    tellError(tellFault, id, 'loading it', error);
    return left(stepFault());
  }
}

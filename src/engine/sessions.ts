// The sessions of one engine: created, loaded when they are first asked for, loaded again when a write left it open
// what the journal holds, and put aside when nothing is owed to them and others were used since.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { Ingress, IngressEvent } from '../../schemas/event.ts';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { freezeJson } from '../../schemas/json.ts';
import { AT_WORK_MAX, LIVE_SESSIONS_MAX, LOADED_TOGETHER, REST_LOOKS_MAX, RETRY_MS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { CreateSession, ForkSession, SessionSummary, Submit, SubmitReceipt } from '../../schemas/wire.ts';
import { owesBridge } from '../core/effects.ts';
import { defaultGenesis } from '../core/genesis.ts';
import { genesisText } from '../core/genesis-text.ts';
import { checkGenesis } from '../core/initial-state.ts';
import type { Journal } from '../journal/journal.ts';
import { isTransient, stepFault } from './faults.ts';
import { findForkFault, forkSession } from './fork-session.ts';
import { type LoadedSession, loadSession } from './load-session.ts';
import { owesAnything } from './owed.ts';
import { type Resting, newResting } from './resting.ts';
import { LiveSession, type SessionPorts } from './live-session.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface SessionsOptions {
  readonly ports: Omit<SessionPorts, 'onLost' | 'onAdopted' | 'refuseWork'>;
  /** How many sessions may be at work. */
  readonly atWorkMax?: number;
  readonly newSessionId: () => SessionId;
  readonly onLoaded: (session: LiveSession) => void;
  readonly onAdopted: (session: LiveSession, events: readonly IngressEvent[]) => void;
  /** What is known of a session is in doubt; it is being loaded again. */
  readonly onLost: (id: SessionId) => void;
  /** It cannot be loaded again. */
  readonly onGone: (id: SessionId) => void;
  /** Whether somebody waits for what this session does next. */
  readonly isWatched: (id: SessionId) => boolean;
}

interface Entry {
  readonly loading: Answer<LiveSession>;
  session: LiveSession | null;
}

/** What the engine's own reports take in a queue, in bytes: they are small, and there is one of each. */
const REPORT_BYTES = 256;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #ports: SessionPorts;
  readonly #entries = new Map<SessionId, Entry>();
  readonly #resting: Resting;
  /** Sessions that owe something, in memory or on their way there. */
  readonly #atWork = new Set<SessionId>();
  #closed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#resting = newResting({
      sessionsMax: LIVE_SESSIONS_MAX,
      looksMax: REST_LOOKS_MAX,
      mayGo: (id) => this.peek(id)?.isIdle() !== false && !options.isWatched(id),
    });
    this.#ports = {
      ...options.ports,
      refuseWork: (id) => (this.#atWork.has(id) ? null : this.#refuseMore()),
      onAdopted: (session, events) => {
        options.onAdopted(session, events);
        this.#settle(session);
      },
      onLost: ({ id }) => {
        this.#entries.delete(id);
        this.#resting.delete(id);
        options.onLost(id);
        void this.#reload(id);
      },
    };
  }

  async create(request: CreateSession): Answer<SessionSummary> {
    const { journal, clock } = this.#ports;
    const genesis = checkGenesis(
      defaultGenesis({
        session_id: request.session_id ?? this.#options.newSessionId(),
        created_at_ms: clock.now(),
        ...(request.config === undefined ? {} : { config: request.config }),
        ...(request.tool_package === undefined ? {} : { tool_package: freezeJson(request.tool_package) }),
        ...(request.consent === undefined ? {} : { consent: request.consent }),
      }),
    );
    if (isLeft(genesis)) return genesis;
    const { session_id } = genesis.right;
    const created = await journal.create(session_id, genesisText(genesis.right))();
    if (isLeft(created)) return created;
    // Whoever asked for it a moment too early is refused first, so that nobody joins that answer.
    await this.#entries.get(session_id)?.loading;
    return right({ session_id, version: 0 as Version, owing: false });
  }

  /** Makes a new session of the first events of another one. */
  async fork(source: SessionId, { session_id, at, run = 'pause' }: ForkSession): Answer<SessionSummary> {
    // What it will owe is known only when most of it is stored.
    const refusal = this.#refuseMore();
    if (refusal !== null) return left(refusal);
    const { journal, blobs, clock } = this.#ports;
    const id = session_id ?? this.#options.newSessionId();
    const order = { source, session_id: id, run, at_ms: clock.now(), ...(at === undefined ? {} : { at }) };
    const forked = await forkSession(journal, blobs, order);
    if (isLeft(forked)) return forked;
    // Whoever asked for it before it was whole was refused; from here on it may be worked for.
    await this.#entries.get(id)?.loading;
    const session = await this.get(id);
    if (isLeft(session)) return session;
    const state = session.right.state();
    return right({ session_id: id, version: state.version, owing: owesBridge(state) });
  }

  get(id: SessionId): Answer<LiveSession> {
    const known = this.#entries.get(id);
    if (known !== undefined) {
      this.#resting.touch(id);
      return known.loading;
    }
    const loading = this.#load(id);
    this.#entries.set(id, { loading, session: null });
    return loading;
  }

  /** The session if it is in memory. */
  peek(id: SessionId): LiveSession | null {
    return this.#entries.get(id)?.session ?? null;
  }

  /** Appends through the session's fence; `bytes` is what the request takes in its queue. */
  async submit(id: SessionId, request: Submit, bytes: number): Answer<SubmitReceipt> {
    for (;;) {
      const session = await this.get(id);
      if (isLeft(session)) return session;
      const receipt = await session.right.submit(request, bytes);
      if (receipt !== null) return receipt;
      if (this.#closed) return left(reject('closing', '', 'the engine is closing'));
    }
  }

  /**
   * A fact of the engine's own; false when storage did not take it now, or a clock that went back has not come to it
   * again. Too late or not applicable is an answer.
   */
  async report(id: SessionId, event: Ingress): Promise<boolean> {
    const receipt = await this.submit(id, { events: [event] }, REPORT_BYTES);
    return !isLeft(receipt) || !(isTransient(receipt.left.code) || receipt.left.code === 'time_not_due');
  }

  async list(): Answer<readonly SessionSummary[]> {
    const all = await this.#ports.journal.sessions()();
    if (isLeft(all)) return all;
    // The journal also marks a session that only waits for a time; every such session is in memory.
    const owing = (id: SessionId): boolean => {
      const session = this.peek(id);
      return session === null || owesBridge(session.state());
    };
    return right(all.right.map((head) => ({ ...head, owing: head.owing && owing(head.session_id) })));
  }

  /** Loads every session that owes something; the ones that do not verify are given back with the reason. */
  async loadOwing(): Answer<readonly Rejection[]> {
    const all = await this.#ports.journal.sessions()();
    if (isLeft(all)) return all;
    const owing = all.right.filter((head) => head.owing).map(({ session_id }) => session_id);
    const faults: (Rejection | null)[] = [];
    let next = 0;
    // While the store reads for one session, another one is folded.
    const loadNext = async (): Promise<void> => {
      for (let at = next++; at < owing.length; at = next++) faults[at] = await this.#loadOwed(owing[at] as SessionId);
    };
    await Promise.all(Array.from({ length: LOADED_TOGETHER }, loadNext));
    return right(faults.filter((fault) => fault !== null));
  }

  async #loadOwed(id: SessionId): Promise<Rejection | null> {
    const loaded = await this.get(id);
    if (!isLeft(loaded)) return null;
    if (isTransient(loaded.left.code)) this.#reloadLater(id);
    return loaded.left;
  }

  close(): void {
    this.#closed = true;
  }

  async #load(id: SessionId): Answer<LiveSession> {
    const loaded = await loadSafely(this.#ports.journal, id);
    const entry = this.#entries.get(id);
    if (isLeft(loaded)) {
      this.#entries.delete(id);
      return loaded;
    }
    const session = new LiveSession(loaded.right, this.#ports);
    if (entry !== undefined) entry.session = session;
    this.#options.onLoaded(session);
    this.#settle(session);
    return right(session);
  }

  /** A session was loaded or has adopted events: it rests now, or is at work. */
  #settle(session: LiveSession): void {
    if (owesAnything(session.state())) {
      this.#atWork.add(session.id);
      this.#resting.delete(session.id);
    } else {
      this.#atWork.delete(session.id);
      this.#resting.add(session.id);
    }
    for (const id of this.#resting.takeExcess()) {
      this.peek(id)?.retire();
      this.#entries.delete(id);
    }
  }

  /** Loads until storage has answered, so that what is owed is owed again. */
  async #reload(id: SessionId): Promise<void> {
    if (this.#closed) return;
    const again = await this.get(id);
    if (!isLeft(again)) return;
    if (isTransient(again.left.code)) {
      this.#reloadLater(id);
      return;
    }
    this.#atWork.delete(id);
    this.#options.onGone(id);
  }

  /** Why no further session may begin to work, or null. */
  #refuseMore(): Rejection | null {
    const { atWorkMax = AT_WORK_MAX } = this.#options;
    if (this.#atWork.size < atWorkMax) return null;
    const message = `${this.#atWork.size} sessions are at work already, and no more are taken; finish or interrupt some`;
    return reject('too_many_at_work', '', message);
  }

  #reloadLater(id: SessionId): void {
    this.#ports.clock.after(RETRY_MS, () => void this.#reload(id));
  }
}

// What a journal throws instead of refusing is a fault of ours, and may not take the engine down.
async function loadSafely(journal: Journal, id: SessionId): Answer<LoadedSession> {
  try {
    const loaded = await loadSession(journal, id);
    const fault = isLeft(loaded) ? null : findForkFault(loaded.right);
    return fault === null ? loaded : left(fault);
  } catch {
    return left(stepFault());
  }
}

// The sessions of one engine, as its client uses them: create, fork, submit, list.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Ingress } from '../../../schemas/event.ts';
import type { SessionId, Version } from '../../../schemas/ids.ts';
import { freezeJson } from '../../../schemas/json.ts';
import { LOADED_TOGETHER } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { CreateSession, ForkSession, SessionSummary, Submit, SubmitReceipt } from '../../../schemas/wire.ts';
import { owesBridge } from '../../core/effects.ts';
import { defaultGenesis } from '../../core/genesis.ts';
import { genesisText } from '../../core/genesis-text.ts';
import { checkGenesis } from '../../core/initial-state.ts';
import { isTransient } from '../faults.ts';
import { forkSession } from './fork-session.ts';
import type { LiveSession } from '../append/live-session.ts';
import { type CacheOptions, SessionCache } from './session-cache.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface SessionsOptions extends CacheOptions {
  readonly newSessionId: () => SessionId;
}

/** The size that the engine's reports count with in a session's queue, in bytes: they are small and few. */
const REPORT_BYTES = 256;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #cache: SessionCache;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#cache = new SessionCache(options);
  }

  async create(request: CreateSession): Answer<SessionSummary> {
    const { journal, clock } = this.#options.ports;
    const genesis = checkGenesis(
      defaultGenesis({
        session_id: request.session_id ?? this.#options.newSessionId(),
        created_at_ms: clock.now(),
        ...(request.config === undefined ? {} : { config: request.config }),
        ...(request.tool_package === undefined ? {} : { tool_package: freezeJson(request.tool_package) }),
        ...(request.consent === undefined ? {} : { consent: request.consent }),
      }),
    );
    return await pipe(
      TE.fromEither(genesis),
      TE.chainFirst((checked) => journal.create(checked.session_id, genesisText(checked))),
      TE.chainFirstTaskK(
        ({ session_id }) =>
          () =>
            this.#cache.awaitEarlierLoad(session_id),
      ),
      TE.map(({ session_id }) => ({ session_id, version: 0 as Version, owing: false })),
    )();
  }

  /** Creates a session from the first events of another one. */
  async fork(source: SessionId, { session_id, at, run = 'pause' }: ForkSession): Answer<SessionSummary> {
    // Whether the fork is active is known only once most of it is stored.
    const refusal = this.#cache.activity.refuseAnother();
    if (refusal !== null) return left(refusal);
    const { journal, blobs, clock } = this.#options.ports;
    const id = session_id ?? this.#options.newSessionId();
    const options = { source, session_id: id, run, at_ms: clock.now(), ...(at === undefined ? {} : { at }) };
    return await pipe(
      () => forkSession(journal, blobs, options),
      TE.chainTaskK(() => () => this.#cache.awaitEarlierLoad(id)),
      TE.chain(() => () => this.get(id)),
      TE.map((session) => {
        const state = session.state();
        return { session_id: id, version: state.version, owing: owesBridge(state) };
      }),
    )();
  }

  get(id: SessionId): Answer<LiveSession> {
    return this.#cache.get(id);
  }

  /** The session when it is in memory, else null. */
  inMemory(id: SessionId): LiveSession | null {
    return this.#cache.inMemory(id);
  }

  /** Submits a request of this size; submits it again when its session was retired in between. */
  async submit(id: SessionId, request: Submit, bytes: number): Answer<SubmitReceipt> {
    for (;;) {
      const session = await this.get(id);
      if (isLeft(session)) return session;
      const receipt = await session.right.submit(request, bytes);
      if (receipt !== null) return receipt;
      if (this.#cache.isClosed()) return left(reject('closing', '', 'the engine is closing'));
    }
  }

  /**
   * Submits a fact that the engine itself reports. False when it must be tried again: storage did not accept it, or the
   * clock was set back to before its time. A refusal as too late or not applicable is final.
   */
  async report(id: SessionId, event: Ingress): Promise<boolean> {
    const receipt = await this.submit(id, { events: [event] }, REPORT_BYTES);
    return !isLeft(receipt) || !(isTransient(receipt.left.code) || receipt.left.code === 'time_not_due');
  }

  async list(): Answer<readonly SessionSummary[]> {
    const all = await this.#options.ports.journal.sessions()();
    if (isLeft(all)) return all;
    // The journal also marks sessions that wait only for a time as owing; those are in memory.
    const owing = (id: SessionId): boolean => {
      const session = this.inMemory(id);
      return session === null || owesBridge(session.state());
    };
    return right(all.right.map((head) => ({ ...head, owing: head.owing && owing(head.session_id) })));
  }

  /** Loads every session that owes something, and returns the faults of those that cannot be loaded. */
  async loadOwing(): Answer<readonly Rejection[]> {
    const all = await this.#options.ports.journal.sessions()();
    if (isLeft(all)) return all;
    const owing = all.right.filter((head) => head.owing).map(({ session_id }) => session_id);
    const faults: (Rejection | null)[] = [];
    let next = 0;
    // While the store reads for one session, another one is folded.
    const loadNext = async (): Promise<void> => {
      for (let at = next++; at < owing.length; at = next++) {
        faults[at] = await this.#cache.loadOwing(owing[at] as SessionId);
      }
    };
    await Promise.all(Array.from({ length: LOADED_TOGETHER }, loadNext));
    return right(faults.filter((fault) => fault !== null));
  }

  close(): void {
    this.#cache.close();
  }
}

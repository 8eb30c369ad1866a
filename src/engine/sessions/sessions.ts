// The sessions of one engine, as its client uses them: create, fork, submit, list.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Ingress } from '../../../schemas/event.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { freezeJson } from '../../../schemas/json.ts';
import { LOADED_TOGETHER, SESSIONS_PAGE_MAX } from '../../../schemas/limits.ts';
import { type Rejection, type RejectionCode, reject } from '../../../schemas/rejection.ts';
import type { Tombstone } from '../../../schemas/session-head.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type {
  CreateSession,
  DeletedPage,
  ForkSession,
  ListDeleted,
  ListSessions,
  SessionPage,
  SessionSummary,
  Submit,
  SubmitReceipt,
} from '../../../schemas/wire.ts';
import { defaultOrigin } from '../../core/genesis.ts';
import { checkGenesis } from '../../core/initial-state.ts';
import { headFacts } from '../../core/session-head.ts';
import { sessionPages } from '../../client/all-sessions.ts';
import { findContentFault } from '../edge/content-check.ts';
import { withAdmittedTools } from '../edge/tool-definitions.ts';
import { isTransient, tellError } from '../faults.ts';
import type { CatalogFollow } from '../catalog-follow.ts';
import { createStream } from './create-stream.ts';
import { forkSession } from './fork-session.ts';
import type { LiveSession } from '../append/live-session.ts';
import { type LoadedSession, createdSession } from './load-session.ts';
import { type CacheOptions, SessionCache } from './session-cache.ts';
import type { Reported } from './wakes.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface SessionsOptions extends CacheOptions {
  readonly newSessionId: () => SessionId;
  /** Waits for what is still being written of a session that is about to be deleted. */
  readonly beforeDelete: (session: LiveSession) => Promise<void>;
  /** What a session gets before a request, and a new one before anything. Null when there is nothing to wait for. */
  readonly catalog: Pick<CatalogFollow, 'begin' | 'freshen'>;
}

/** The size that the engine's reports count with in a session's queue, in bytes: they are small and few. */
const REPORT_BYTES = 256;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #forking = new Set<SessionId>();
  readonly #cache: SessionCache;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#cache = new SessionCache(options);
  }

  async create(request: CreateSession): Answer<SessionSummary> {
    const { journal, blobs, clock, pause } = this.#options.ports;
    const fault = await findContentFault(blobs, { config: request.config ?? {} });
    if (fault !== null) return left(fault);
    const given = request.tool_package;
    const admitted = given === undefined ? right(undefined) : await withAdmittedTools(given, pause);
    if (isLeft(admitted)) return admitted;
    const { genesis, tool_package } = defaultOrigin({
      session_id: request.session_id ?? this.#options.newSessionId(),
      created_at_ms: clock.now(),
      ...(admitted.right === undefined ? {} : { tool_package: freezeJson(admitted.right) }),
      ...(request.config === undefined ? {} : { config: request.config }),
      ...(request.consent === undefined ? {} : { consent: request.consent }),
    });
    return await pipe(
      TE.fromEither(checkGenesis(genesis, tool_package)),
      TE.chain((checked) =>
        pipe(
          createStream(journal, { genesis: checked, tool_package }),
          TE.map((initial) => createdSession(checked, initial)),
        ),
      ),
      TE.chainFirstTaskK((created) => () => this.#cache.addCreated(created)),
      TE.chainTaskK((created) => () => this.#begun(created)),
      TE.map((state) => ({ session_id: state.session_id, version: state.version, ...headFacts(state) })),
    )();
  }

  /** The state of a session that was just created, with the catalog that it follows. */
  async #begun({ state }: LoadedSession): Promise<SessionState> {
    const session = this.#cache.inMemory(state.session_id);
    const beginning = session === null ? null : this.#options.catalog.begin(session);
    if (session === null || beginning === null) return state;
    await beginning;
    return session.state();
  }

  /** The sessions in memory that owe a bridge something get the catalog now: no request may come before their next generate. */
  async freshenOwing(): Promise<void> {
    for (const session of this.#cache.owing()) await this.#options.catalog.freshen(session);
  }

  /** Creates a session from the first events of another one. */
  async fork(source: SessionId, { session_id, at, run = 'pause' }: ForkSession): Answer<SessionSummary> {
    // Whether the fork is active is known only once most of it is stored.
    const refusal = this.#cache.activity.refuseAnother();
    if (refusal !== null) return left(refusal);
    const { journal, clock, pause } = this.#options.ports;
    const id = session_id ?? this.#options.newSessionId();
    const options = { source, session_id: id, run, at_ms: clock.now(), pause, ...(at === undefined ? {} : { at }) };
    const storing = async (): Answer<void> => {
      // A second fork with this id is refused, and must not end the first one's mark.
      if (this.#forking.has(id)) return await forkSession(journal, options);
      this.#forking.add(id);
      return await forkSession(journal, options).finally(() => this.#forking.delete(id));
    };
    return await pipe(
      storing,
      TE.chainTaskK(() => () => this.#cache.awaitEarlierLoad(id)),
      TE.chain(() => () => this.get(id)),
      TE.map((session) => {
        const state = session.state();
        return { session_id: id, version: state.version, ...headFacts(state) };
      }),
    )();
  }

  /** Deletes an idle session, or a damaged one; only its tombstone stays. */
  async delete(id: SessionId): Answer<Tombstone> {
    const { journal, clock } = this.#options.ports;
    // Until it is stored completely, it looks like a copy that was cut off.
    if (this.#forking.has(id)) return left(reject('session_busy', '', `session ${id} is being forked; try again`));
    return await this.#cache.remove(id, async (session) => {
      if (session === null) return await journal.deleteDamaged(id, clock.now())();
      await this.#options.beforeDelete(session);
      const { version } = session.state();
      const tombstone = { session_id: id, version, chain: session.chain(), deleted_at_ms: clock.now() };
      return pipe(
        await journal.delete(tombstone)(),
        E.map(() => tombstone),
      );
    });
  }

  async listDeleted({ after, limit = SESSIONS_PAGE_MAX }: ListDeleted): Answer<DeletedPage> {
    return await pipe(
      this.#options.ports.journal.tombstones(after ?? null, limit),
      TE.map((deleted) => ({
        deleted: [...deleted],
        next: deleted.length < limit ? null : (deleted.at(-1)?.session_id ?? null),
      })),
    )();
  }

  get(id: SessionId): Answer<LiveSession> {
    return this.#cache.get(id);
  }

  counts(): ReturnType<SessionCache['counts']> {
    return this.#cache.counts();
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
      const freshening = this.#options.catalog.freshen(session.right);
      // A request that names a version is for that version: it comes first.
      if (freshening !== null && request.expected_version === undefined) await freshening;
      const receipt = await session.right.submit(request, bytes);
      if (receipt !== null) return receipt;
      if (this.#cache.isClosed()) return left(reject('closing', '', 'the engine is closing'));
    }
  }

  /**
   * Submits a fact that the engine itself reports. `again` when storage did not accept it, when the clock was set back to
   * before its time, or when too many sessions are active; every other refusal is final.
   */
  async report(id: SessionId, event: Ingress): Promise<Reported> {
    const receipt = await this.submit(id, { events: [event] }, REPORT_BYTES);
    if (!isLeft(receipt)) return 'done';
    const { code, message } = receipt.left;
    if (isOwnFault(code)) {
      this.#options.ports.tellFault({ session_id: id, doing: `recording ${event.kind}`, reason: message });
    }
    return isTransient(code) || code === 'time_not_due' || code === 'too_many_active_sessions' ? 'again' : 'refused';
  }

  async list(request: ListSessions): Answer<SessionPage> {
    return await this.#options.ports.journal.sessions({ limit: SESSIONS_PAGE_MAX, ...request })();
  }

  /** Loads every session that has work for a bridge, and returns the faults of those that cannot be loaded. */
  async loadOwing(): Answer<readonly Rejection[]> {
    const { journal } = this.#options.ports;
    const faults: Rejection[] = [];
    for await (const page of sessionPages((request) => journal.sessions(request), { owing: true })) {
      if (isLeft(page)) return page;
      faults.push(...(await this.#loadAll(page.right)));
    }
    return right(faults);
  }

  /** The faults of the sessions that cannot be loaded, in the order of the sessions. */
  async #loadAll(heads: readonly SessionSummary[]): Promise<readonly Rejection[]> {
    const faults: (Rejection | null)[] = [];
    const waiting = heads.entries();
    const loadNext = async (): Promise<void> => {
      for (const [at, head] of waiting) {
        faults[at] = await this.#cache.loadOwing(head.session_id);
        await this.#restate(head);
      }
    };
    await Promise.all(Array.from({ length: LOADED_TOGETHER }, loadNext));
    return faults.filter((fault) => fault !== null);
  }

  /** Corrects a head that a rebuilt journal could only guess. When that fails, the next opening loads the session again. */
  async #restate({ session_id, version, ...stored }: SessionSummary): Promise<void> {
    const state = this.inMemory(session_id)?.state();
    if (state?.version !== version) return;
    const facts = headFacts(state);
    if (canonicalText(facts) !== canonicalText(stored)) {
      const { journal, tellFault } = this.#options.ports;
      const doing = 'correcting its entry in the list of sessions';
      const restated = await journal
        .restate(session_id, version, facts)()
        .catch((error: unknown) => {
          tellError(tellFault, session_id, doing, error);
          return null;
        });
      if (restated !== null && isLeft(restated)) {
        tellFault({ session_id, doing, reason: restated.left.message });
      }
    }
  }

  close(): void {
    this.#cache.close();
  }
}

/** A report of the engine itself was refused for another reason than that its fact has been overtaken. */
const isOwnFault = (code: RejectionCode): boolean =>
  isTransient(code) ||
  code === 'damaged' ||
  code === 'outdated' ||
  code === 'rules_unknown' ||
  code === 'too_many_active_sessions';

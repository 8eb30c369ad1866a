// The calls of one host: every call ends in an answer. Nothing is kept here that the log does not say, but who waits for which
// call.
import { randomUUID } from 'node:crypto';
import type { IngressEvent } from '../../schemas/event.ts';
import { type CallId, type Digest, type SessionId, brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { HOST_ENDED_KEPT_MAX, HOST_TASK_AFTER_MS } from '../../schemas/limits.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { personEffects, questionDigest } from '../core/status.ts';
import {
  type Behind,
  type CallAnswer,
  FULL,
  type FoundCall,
  type OpenCall,
  refusal,
  refusedCall,
} from './call-answer.ts';
import { type CallCancels, newCallCancels } from './call-cancels.ts';
import { type EndedCall, newCallEnds } from './call-ends.ts';
import { type CallSearch, newCallSearch } from './call-search.ts';
import { isCallOpen, isPending, isCallRunning, isStuck, openCalls, personQuestionOf } from './call-standing.ts';
import type { FeedReader, SessionFeed } from './feed.ts';
import { type HostBatches, newHostBatches } from './host-batches.ts';

export interface HostCalls {
  /** Begins a run if there is none: the session has the tools of its host session with it. */
  begin(): Promise<void>;
  /**
   * Makes a call. It is answered when it has ended, when nothing goes on before a person answers, or, for a host that takes
   * tasks, when it goes on as one.
   */
  call(tool: string, args: JsonObject, options?: CallOptions): Promise<CallAnswer>;
  /**
   * The answer of a call that was made before, once it has ended, asks another question than the one that its host has seen, or
   * waits behind another one; else when the signal aborts.
   */
  again(handle: CallId, seen: Digest | null, signal: AbortSignal): Promise<CallAnswer>;
  /** Where a call stands; null when the host made none of this id in the session. */
  find(handle: CallId): Promise<FoundCall | null>;
  /** Resolves when a call has ended or asks another question than the one that its host has seen, or when the signal aborts. */
  changed(handle: CallId, seen: Digest | null, signal: AbortSignal): Promise<void>;
  /** The open calls, and those that ended lately: the earliest first. */
  list(): readonly FoundCall[];
  /** Ends a call as the session permits: see {@link CallCancels}. */
  cancel(handle: CallId, by: string): Promise<void>;
  /** Calls that wait for a batch or for their end. */
  open(): number;
  close(): void;
}

export interface CallOptions {
  /** A call that is not in the log yet is not made when it aborts; one that is there is ended with `cancel`. */
  readonly signal?: AbortSignal;
  /** The call is in the log. */
  readonly onRecorded?: (handle: CallId) => void;
  /** Its start is in the log; that of a tool that only reads is not recorded. */
  readonly onStarted?: () => void;
  /** The host takes tasks: `late` when the call lasts longer than a bound, `at_once` as soon as it is in the log. */
  readonly task?: 'late' | 'at_once';
}

export interface HostCallsOptions {
  readonly client: EngineClient;
  readonly session: SessionId;
  readonly feed: SessionFeed;
  readonly clock: Clock;
  /** Makes unique ids. */
  readonly newId?: () => string;
}

/** A call of this process that waits for its answer. */
interface Made extends CallOptions {
  readonly answer: (answer: CallAnswer) => void;
  readonly cancelTimer: () => void;
}

export const newHostCalls = (options: HostCallsOptions): HostCalls => new Calls(options);

class Calls implements HostCalls {
  readonly #feed: SessionFeed;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #batches: HostBatches;
  readonly #cancels: CallCancels;
  readonly #search: CallSearch;
  readonly #ends = newCallEnds();
  /** Calls that wait for an answer, in the log or on their way. */
  readonly #waiting = new Map<CallId, Made>();
  /** Calls that ended lately: a host comes back for them. Those before are found in the log. */
  readonly #lately = new Map<CallId, EndedCall>();
  /** Open calls whose host was told that they are tasks. */
  readonly #tasks = new Set<CallId>();
  readonly #unread: () => void;
  #closed: Error | null = null;

  constructor({ client, session, feed, clock, newId = randomUUID }: HostCallsOptions) {
    this.#feed = feed;
    this.#clock = clock;
    this.#newId = newId;
    this.#batches = newHostBatches({
      client,
      session,
      feed,
      clock,
      newId,
      onRefused: (id, why) => this.#tell(id, why),
    });
    this.#cancels = newCallCancels({ client, session, feed });
    this.#search = newCallSearch(client, session);
    this.#unread = feed.read({
      onEvents: (events, state) => this.#read(events, state),
      onEnd: (why) => this.#end(why),
    });
  }

  begin(): Promise<void> {
    return this.#batches.begin();
  }

  call(tool: string, args: JsonObject, options: CallOptions = {}): Promise<CallAnswer> {
    return new Promise((answer) => {
      const behind = this.#behind(this.#feed.state());
      if (this.#closed !== null) answer(refusal(this.#closed));
      else if (behind !== null) answer({ kind: 'busy', behind });
      else {
        const id = brand<'CallId'>(`${HANDLE}${this.#newId()}`);
        if (!this.#batches.add({ id, tool, args })) {
          answer(FULL);
          return;
        }
        const late = () => this.#tellLate(id);
        const cancelTimer = options.task === undefined ? NOTHING : this.#clock.after(HOST_TASK_AFTER_MS, late);
        this.#waiting.set(id, { ...options, answer, cancelTimer });
        options.signal?.addEventListener('abort', () => this.#withdraw(id), { once: true });
      }
    });
  }

  async again(handle: CallId, seen: Digest | null, signal: AbortSignal): Promise<CallAnswer> {
    if (this.#closed !== null) return refusal(this.#closed);
    const standing = (state: SessionState): CallAnswer | 'changed' | null => {
      const [first] = personEffects(state);
      if (this.#isOther(state, handle, seen)) return 'changed';
      const isBlocked =
        first !== undefined && isStuck(state) && personQuestionOf(state, this.#ends.currentOf(handle)) === null;
      return isBlocked ? { kind: 'busy', behind: { action: first } } : null;
    };
    const before = await this.#until(standing, signal);
    if (before !== null && before !== 'changed') return before;
    const found = await this.find(handle);
    if (found === null) return refusedCall('unknown_call', `${this.#feed.state().session_id} has no call ${handle}`);
    return found.kind === 'task' && found.call.action !== null ? { kind: 'asks', action: found.call.action } : found;
  }

  async find(handle: CallId): Promise<FoundCall | null> {
    if (!handle.startsWith(HANDLE)) return null;
    const known = this.#known(handle);
    if (known !== null) return known;
    const logged = await this.#search.find(handle);
    if (logged === null) return null;
    if (logged.ended !== null) return { kind: 'ended', call: logged.ended };
    return { kind: 'task', call: this.#openCall(handle, logged.made_at_ms, logged.current) };
  }

  async changed(handle: CallId, seen: Digest | null, signal: AbortSignal): Promise<void> {
    await this.#until((state) => (this.#isOther(state, handle, seen) ? true : null), signal);
  }

  list(): readonly FoundCall[] {
    const open = openCalls(this.#feed.state()).map((id) => this.#ends.handleOf(id));
    return [...this.#lately.keys(), ...open].flatMap((handle) => this.#known(handle) ?? []);
  }

  async cancel(handle: CallId, by: string): Promise<void> {
    await this.#cancels.cancel(this.#ends.currentOf(handle), by);
  }

  open(): number {
    return this.#waiting.size;
  }

  close(): void {
    this.#unread();
    this.#batches.close();
    for (const { cancelTimer } of this.#waiting.values()) cancelTimer();
  }

  #read(events: Parameters<FeedReader['onEvents']>[0], state: SessionState): void {
    for (const { event } of events) this.#note(event);
    for (const call of this.#ends.add(events)) {
      this.#keep(call);
      this.#tasks.delete(call.handle);
      this.#tell(call.handle, { kind: 'ended', call });
    }
    for (const { event } of events) if (event.kind === 'ToolCallsObserved') this.#tellTasks(event.calls);
    for (const id of this.#tasks) if (!isPending(state, this.#ends.currentOf(id))) this.#tasks.delete(id);
    this.#tellAsked(state);
    // A batch is over, or the run may go on: calls that came meanwhile are the next batch.
    this.#batches.goOn();
  }

  #end(why: Error): void {
    this.#closed = why;
    this.#batches.close();
    for (const id of this.#waiting.keys()) this.#tell(id, refusal(why));
  }

  #keep(call: EndedCall): void {
    this.#lately.set(call.handle, call);
    for (const id of this.#lately.keys()) if (this.#lately.size > HOST_ENDED_KEPT_MAX) this.#lately.delete(id);
  }

  #note(event: IngressEvent): void {
    if (event.kind === 'ToolCallsObserved') {
      for (const { call_id } of event.calls) this.#waiting.get(call_id)?.onRecorded?.(call_id);
    }
    if (event.kind === 'ToolCallStarted') this.#waiting.get(this.#ends.handleOf(event.call_id))?.onStarted?.();
  }

  #tell(id: CallId, answer: CallAnswer): void {
    const made = this.#waiting.get(id);
    if (made === undefined) return;
    this.#waiting.delete(id);
    this.#batches.withdraw(id);
    made.cancelTimer();
    made.answer(answer);
  }

  #tellTasks(calls: readonly { readonly call_id: CallId }[]): void {
    for (const { call_id } of calls) if (this.#waiting.get(call_id)?.task === 'at_once') this.#tellTask(call_id);
  }

  /** The call goes on as a task. What waits behind it is told so: a task may last for hours. */
  #tellTask(id: CallId): void {
    const known = this.#known(id);
    if (known?.kind !== 'task') return;
    this.#tasks.add(id);
    this.#tell(id, known);
    this.#tellQueued();
  }

  /** The host of a call does not wait longer: it is a task as soon as it is in the log, or behind a call that lasts. */
  #tellLate(id: CallId): void {
    const made = this.#waiting.get(id);
    if (made !== undefined) this.#waiting.set(id, { ...made, task: 'at_once' });
    const [first] = openCalls(this.#feed.state());
    if (this.#known(id) !== null) this.#tellTask(id);
    else if (first !== undefined) this.#tell(id, { kind: 'busy', behind: { task: this.#ends.handleOf(first) } });
  }

  /** Tells those who wait for a person that they do, and, when nothing else goes on, those behind them. */
  #tellAsked(state: SessionState): void {
    if (this.#waiting.size === 0) return;
    const actions = personEffects(state);
    const [first] = actions;
    if (first === undefined) return;
    for (const action of actions) {
      const id = this.#ends.handleOf(action.call_id);
      // What asks while it runs goes on; nothing else of a call has begun when a person is asked.
      const goesOn = this.#waiting.get(id)?.task !== undefined && isCallRunning(state, action.call_id);
      if (goesOn) this.#tellTask(id);
      else this.#tell(id, { kind: 'asks', action });
    }
    if (!isStuck(state)) return;
    for (const id of this.#waiting.keys()) this.#tell(id, { kind: 'busy', behind: { action: first } });
  }

  #tellQueued(): void {
    const behind = this.#behind(this.#feed.state());
    if (behind === null) return;
    for (const id of this.#batches.withdrawAll()) this.#tell(id, { kind: 'busy', behind });
  }

  /** What a call that comes now would wait behind for a person, or as long as a task lasts; null when it need not. */
  #behind(state: SessionState): Behind | null {
    const [action] = personEffects(state);
    if (action !== undefined && isStuck(state)) return { action };
    const isEnding = state.run === null || state.run.ending !== null;
    const [task] = isEnding ? [] : this.#tasks;
    return task === undefined ? null : { task };
  }

  /** What is known of a call without a look into the log. */
  #known(handle: CallId): FoundCall | null {
    const ended = this.#lately.get(this.#ends.handleOf(handle));
    if (ended !== undefined) return { kind: 'ended', call: ended };
    const madeAtMs = this.#ends.madeAt(handle);
    return madeAtMs === null ? null : { kind: 'task', call: this.#openCall(handle, madeAtMs) };
  }

  #openCall(handle: CallId, made_at_ms: number, current: CallId = this.#ends.currentOf(handle)): OpenCall {
    const state = this.#feed.state();
    const action = isCallOpen(state, current) ? personQuestionOf(state, current) : null;
    return { handle, made_at_ms, changed_at_ms: state.updated_at_ms, action };
  }

  #withdraw(id: CallId): void {
    const isCancelled = this.#batches.withdraw(id);
    if (isCancelled) this.#tell(id, refusedCall('cancelled', 'the call was cancelled before it was made'));
  }

  /** Whether a call has ended, or asks another question than the one that its host has seen. */
  #isOther(state: SessionState, handle: CallId, seen: Digest | null): boolean {
    const current = this.#ends.currentOf(handle);
    const action = personQuestionOf(state, current);
    return !isPending(state, current) || (action !== null && questionDigest(action) !== seen);
  }

  /** The first value that is not null; null when the signal aborts before. */
  #until<T>(found: (state: SessionState) => T | null, signal: AbortSignal): Promise<T | CallAnswer | null> {
    return new Promise((resolve) => {
      let forget = NOTHING;
      const finish = (value: T | CallAnswer | null): void => {
        forget();
        signal.removeEventListener('abort', stop);
        resolve(value);
      };
      const stop = (): void => finish(null);
      const look = (state: SessionState): boolean => {
        const value = found(state);
        if (value !== null) finish(value);
        return value !== null;
      };
      if (look(this.#feed.state())) return;
      signal.addEventListener('abort', stop, { once: true });
      forget = this.#feed.read({
        onEvents: (_events, state) => void look(state),
        onEnd: (why) => finish(refusal(why)),
      });
      if (signal.aborted) stop();
    });
  }
}

/** The ids of calls of hosts begin with it. */
const HANDLE = 'host-';

const NOTHING = (): void => undefined;

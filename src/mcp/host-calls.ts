// The calls of one host: those within a few milliseconds are one batch, later ones the next, and every call ends in an answer.
// Nothing is kept here that the log does not say, but who waits for which call.
import { randomUUID } from 'node:crypto';
import { isLeft } from 'fp-ts/lib/Either.js';
import { callStateOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import { canonicalText } from '../../schemas/canonical.ts';
import type { Ingress, IngressEvent } from '../../schemas/event.ts';
import { type CallId, type SessionId, brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import {
  HOST_BATCH_CHARS_MAX,
  HOST_CALLS_WAITING_MAX,
  HOST_ENDED_KEPT_MAX,
  HOST_SUBMITS_MAX,
  HOST_SUBMIT_AGAIN_MS,
  HOST_WINDOW_MS,
} from '../../schemas/limits.ts';
import { CALLS_PER_BATCH_MAX } from '../../schemas/limits.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../client/client.ts';
import { RejectedError } from '../client/rejected-error.ts';
import { type Clock, sleep } from '../clock.ts';
import { effects } from '../core/effects.ts';
import { type PersonEffect, isPersonEffect, personEffects } from '../core/status.ts';
import { type EndedCall, newCallEnds } from './call-ends.ts';
import type { FeedReader, SessionFeed } from './feed.ts';
import { HOST_CONFIG, hostTurn } from './host-run.ts';

/** What becomes of a call for now. */
export type CallAnswer =
  | { readonly kind: 'ended'; readonly call: EndedCall }
  /** A person is asked about this very call. */
  | { readonly kind: 'asks'; readonly action: PersonEffect }
  /** The call waits behind one that a person is asked about, or was not made because of it. */
  | { readonly kind: 'busy'; readonly action: PersonEffect }
  /** It was not made. */
  | { readonly kind: 'refused'; readonly code: string; readonly why: string };

export interface HostCalls {
  /** Makes a call. It is answered when it has ended, or when nothing goes on before a person answers. */
  call(tool: string, args: JsonObject, options?: CallOptions): Promise<CallAnswer>;
  /**
   * The answer of a call that was made before, once it is another than `asks`, or when the signal aborts. Null when the log
   * must be searched for it.
   */
  again(id: CallId, signal: AbortSignal): Promise<CallAnswer | null>;
  /** Calls that wait for a batch or for their end. */
  open(): number;
  close(): void;
}

export interface CallOptions {
  /** A call that is not in the log yet is not made when it aborts; what is in the log runs to its end. */
  readonly signal?: AbortSignal;
  /** The call is in the log. */
  readonly onRecorded?: () => void;
  /** Its start is in the log; that of a tool that only reads is not recorded. */
  readonly onStarted?: () => void;
}

export interface HostCallsOptions {
  readonly client: EngineClient;
  readonly session: SessionId;
  readonly feed: SessionFeed;
  readonly clock: Clock;
  /** Makes unique ids. */
  readonly newId?: () => string;
}

interface Made {
  readonly id: CallId;
  readonly tool: string;
  readonly args: JsonObject;
  readonly chars: number;
  readonly options: CallOptions;
  readonly answer: (answer: CallAnswer) => void;
}

export const newHostCalls = (options: HostCallsOptions): HostCalls => new Calls(options);

class Calls implements HostCalls {
  readonly #client: EngineClient;
  readonly #session: SessionId;
  readonly #feed: SessionFeed;
  readonly #clock: Clock;
  readonly #newId: () => string;
  readonly #ends = newCallEnds();
  /** Calls that are in the log, by id, and who waits for them. */
  readonly #waiting = new Map<CallId, Set<(answer: CallAnswer) => void>>();
  /** Calls that ended lately: a host comes back for them. Those before are found in the log. */
  readonly #lately = new Map<CallId, EndedCall>();
  /** The calls of this host that are submitted or in the log, and who is told where they are. */
  readonly #noted = new Map<CallId, CallOptions>();
  readonly #ended = new AbortController();
  readonly #unread: () => void;
  #queue: Made[] = [];
  #cancelTimer: (() => void) | null = null;
  #flushing = false;
  #closed: Error | null = null;

  constructor({ client, session, feed, clock, newId = randomUUID }: HostCallsOptions) {
    this.#client = client;
    this.#session = session;
    this.#feed = feed;
    this.#clock = clock;
    this.#newId = newId;
    this.#unread = feed.read({
      onEvents: (events, state) => this.#read(events, state),
      onEnd: (why) => this.#end(why),
    });
  }

  call(tool: string, args: JsonObject, options: CallOptions = {}): Promise<CallAnswer> {
    return new Promise((answer) => {
      const [action] = personEffects(this.#feed.state());
      if (this.#closed !== null) answer(refusal(this.#closed));
      else if (action !== undefined && isStuck(this.#feed.state())) answer({ kind: 'busy', action });
      else if (this.#queue.length >= HOST_CALLS_WAITING_MAX) answer(FULL);
      else {
        const id = brand<'CallId'>(`host-${this.#newId()}`);
        this.#queue.push({ id, tool, args, chars: canonicalText(args).length, options, answer });
        options.signal?.addEventListener('abort', () => this.#withdraw(id), { once: true });
        if (this.#flushing || hostTurn(this.#feed.state()).kind === 'busy') return;
        this.#cancelTimer ??= this.#clock.after(HOST_WINDOW_MS, () => {
          this.#cancelTimer = null;
          void this.#flush();
        });
      }
    });
  }

  again(id: CallId, signal: AbortSignal): Promise<CallAnswer | null> {
    return new Promise((resolve) => {
      let forget = (): void => undefined;
      const finish = (answer: CallAnswer | null): void => {
        forget();
        signal.removeEventListener('abort', stop);
        resolve(answer);
      };
      const stop = (): void => finish(askedNow(this.#feed.state(), id));
      const look = (state: SessionState): boolean => {
        if (isOpen(state, id) && !isBlocked(state, id)) return false;
        const call = this.#lately.get(id);
        finish(call === undefined ? busyNow(state, id) : { kind: 'ended', call });
        return true;
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

  open(): number {
    return this.#queue.length + this.#waiting.size;
  }

  close(): void {
    this.#unread();
    this.#ended.abort();
    this.#cancelTimer?.();
  }

  #read(events: Parameters<FeedReader['onEvents']>[0], state: SessionState): void {
    for (const { event } of events) this.#note(event);
    for (const call of this.#ends.add(events)) {
      this.#keep(call);
      this.#tell(call.call.call_id, { kind: 'ended', call });
    }
    this.#tellAsked(state);
    // A batch is over, or the run may go on: calls that came meanwhile are the next batch.
    if (this.#queue.length > 0 && this.#cancelTimer === null) void this.#flush();
  }

  #end(why: Error): void {
    this.#closed = why;
    this.#ended.abort();
    this.#cancelTimer?.();
    for (const id of this.#waiting.keys()) this.#tell(id, refusal(why));
    for (const made of this.#queue.splice(0)) made.answer(refusal(why));
  }

  #keep(call: EndedCall): void {
    this.#lately.set(call.call.call_id, call);
    for (const id of this.#lately.keys()) if (this.#lately.size > HOST_ENDED_KEPT_MAX) this.#lately.delete(id);
  }

  #note(event: IngressEvent): void {
    if (event.kind === 'ToolCallsObserved') {
      for (const { call_id } of event.calls) this.#noted.get(call_id)?.onRecorded?.();
    }
    if (event.kind === 'ToolCallStarted') this.#noted.get(event.call_id)?.onStarted?.();
  }

  #tell(id: CallId, answer: CallAnswer): void {
    const who = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#noted.delete(id);
    for (const hear of who ?? []) hear(answer);
  }

  /** Tells those who wait for a person that they do, and, when nothing else goes on, those behind them. */
  #tellAsked(state: SessionState): void {
    if (this.#waiting.size === 0 && this.#queue.length === 0) return;
    const actions = personEffects(state);
    const [first] = actions;
    if (first === undefined) return;
    for (const action of actions) this.#tell(action.call_id, { kind: 'asks', action });
    if (!isStuck(state)) return;
    for (const id of this.#waiting.keys()) this.#tell(id, { kind: 'busy', action: first });
    for (const made of this.#queue.splice(0)) made.answer({ kind: 'busy', action: first });
  }

  #hear(id: CallId, answer: (answer: CallAnswer) => void): void {
    const who = this.#waiting.get(id) ?? new Set();
    who.add(answer);
    this.#waiting.set(id, who);
  }

  /** The host cancelled the call: it is not made, unless it is in the log. */
  #withdraw(id: CallId): void {
    const made = this.#queue.find((queued) => queued.id === id);
    this.#queue = this.#queue.filter((queued) => queued.id !== id);
    made?.answer({ kind: 'refused', code: 'cancelled', why: 'the call was cancelled before it was made' });
  }

  /** Submits the next batch, when the session takes one. */
  async #flush(): Promise<void> {
    if (this.#flushing || this.#closed !== null) return;
    this.#flushing = true;
    try {
      await this.#flushNext();
    } catch (error) {
      for (const made of this.#queue.splice(0)) made.answer(refusal(error));
    } finally {
      this.#flushing = false;
    }
    // What came while the batch was submitted, unless its end is awaited.
    const isFree = this.#queue.length > 0 && this.#cancelTimer === null && hostTurn(this.#feed.state()).kind !== 'busy';
    if (isFree) void this.#flush();
  }

  async #flushNext(): Promise<void> {
    const turn = hostTurn(this.#feed.state());
    if (turn.kind === 'busy' || this.#queue.length === 0) return;
    if (turn.kind === 'blocked') {
      for (const made of this.#queue.splice(0)) made.answer({ kind: 'refused', code: 'wrong_phase', why: turn.why });
      return;
    }
    if (turn.kind === 'none') {
      await this.#startRun();
      return await this.#flushNext();
    }
    const batch = this.#takeBatch();
    for (const { id, options, answer } of batch) {
      this.#hear(id, answer);
      this.#noted.set(id, options);
    }
    const { run_id } = turn;
    const calls = batch.map(({ id, tool, args }) => ({ call_id: id, tool_name: tool, arguments: args }));
    const refused = await this.#submit({ kind: 'ToolCallsObserved', run_id, turn: turn.turn, calls });
    if (refused !== null) {
      for (const { id } of batch) this.#tell(id, refused);
      return;
    }
    // Until the feed has read the batch, the session looks as if it took another.
    await this.#feed.until((state) =>
      state.run?.turn === turn.turn && state.active_tool_batch === null ? null : true,
    );
  }

  /** Requests a run, and waits until it takes calls; throws when it has ended before. */
  async #startRun(): Promise<void> {
    const { runs_started } = this.#feed.state();
    const input = { text: 'calls of a host' };
    const refused = await this.#submit({ kind: 'RunRequested', input, run_overrides: HOST_CONFIG });
    if (refused?.kind === 'refused' && refused.code !== 'run_already_active') throw new Error(refused.why);
    const why = await this.#feed.until((state) => {
      if (state.runs_started === runs_started) return null;
      if (state.run === null) return state.run_history.at(-1)?.ending.message ?? 'the run has ended';
      return hostTurn(state).kind === 'busy' ? null : '';
    });
    if (why !== '') throw new Error(`the run for the calls has ended: ${why}`);
  }

  #takeBatch(): readonly Made[] {
    let chars = 0;
    const end = this.#queue.findIndex((made, index) => {
      chars += made.chars;
      return index > 0 && (chars > HOST_BATCH_CHARS_MAX || index >= CALLS_PER_BATCH_MAX);
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  /** Null when it is recorded. The event id makes a repetition known, so that calls are made once. */
  async #submit(event: Ingress): Promise<CallAnswer | null> {
    const events = [{ ...event, event_id: brand<'EventId'>(`host-${this.#newId()}`) }];
    for (let tries = 1; ; tries += 1) {
      const submitted = await this.#client.submit(this.#session, { events })();
      if (!isLeft(submitted)) return null;
      const { code } = submitted.left;
      const mayBeRepeated = code === 'closing' || code === 'storage_unknown' || code === 'queue_full';
      if (!mayBeRepeated || tries >= HOST_SUBMITS_MAX) return refusal(new RejectedError(submitted.left));
      await sleep(this.#clock, HOST_SUBMIT_AGAIN_MS, this.#ended.signal);
    }
  }
}

/** Whether a person is asked and nothing else goes on: a call that asks while it runs does nothing meanwhile. */
function isStuck(state: SessionState): boolean {
  const asking = new Set(personEffects(state).map(({ call_id }) => call_id));
  if (asking.size === 0) return false;
  return effects(state).every(
    (effect) => isPersonEffect(effect) || effect.kind === 'wake' || ('call_id' in effect && asking.has(effect.call_id)),
  );
}

/** Whether a call is in the open batch and has not ended. */
function isOpen({ active_tool_batch: batch }: SessionState, id: CallId): boolean {
  const status = batch === null ? undefined : callStateOf(batch, id)?.status;
  return status !== undefined && !isTerminal(status);
}

/** Whether nothing goes on before a person answers for another call. */
const isBlocked = (state: SessionState, id: CallId): boolean => askedNow(state, id) === null && isStuck(state);

function askedNow(state: SessionState, id: CallId): CallAnswer | null {
  const action = personEffects(state).find(({ call_id }) => call_id === id);
  return action === undefined ? null : { kind: 'asks', action };
}

/** For an open call behind another one that waits for a person; null for a call that has ended. */
function busyNow(state: SessionState, id: CallId): CallAnswer | null {
  const [action] = personEffects(state);
  return isOpen(state, id) && action !== undefined ? { kind: 'busy', action } : null;
}

const FULL: CallAnswer = {
  kind: 'refused',
  code: 'queue_full',
  why: `${HOST_CALLS_WAITING_MAX} calls wait already; call again when some of them have ended`,
};

function refusal(error: unknown): CallAnswer {
  const code = error instanceof RejectedError ? error.rejection.code : 'internal';
  return { kind: 'refused', code, why: error instanceof Error ? error.message : String(error) };
}

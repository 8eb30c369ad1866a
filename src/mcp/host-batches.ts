// The calls of a host on their way into the log: those within a few milliseconds are one batch, later ones the next.
import { isLeft } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import type { Ingress } from '../../schemas/event.ts';
import { type CallId, type SessionId, brand } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import {
  CALLS_PER_BATCH_MAX,
  HOST_BATCH_CHARS_MAX,
  HOST_CALLS_WAITING_MAX,
  HOST_SUBMITS_MAX,
  HOST_SUBMIT_AGAIN_MS,
  HOST_WINDOW_MS,
} from '../../schemas/limits.ts';
import type { EngineClient } from '../client/client.ts';
import { RejectedError } from '../client/rejected-error.ts';
import { type Clock, sleep } from '../clock.ts';
import { type CallAnswer, refusal, refusedCall } from './call-answer.ts';
import type { SessionFeed } from './feed.ts';
import { HOST_CONFIG, hostTurn } from './host-run.ts';

/** A call that is not in the log. */
export interface QueuedCall {
  readonly id: CallId;
  readonly tool: string;
  readonly args: JsonObject;
}

export interface HostBatchesOptions {
  readonly client: EngineClient;
  readonly session: SessionId;
  readonly feed: SessionFeed;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Called with a call that does not come into the log. */
  readonly onRefused: (id: CallId, why: CallAnswer) => void;
}

export interface HostBatches {
  /** False when too many calls wait. */
  add(call: QueuedCall): boolean;
  /** Takes a call back; false when it is submitted, or unknown. */
  withdraw(id: CallId): boolean;
  /** Takes back every call that waits. */
  withdrawAll(): readonly CallId[];
  /** Calls that wait. */
  count(): number;
  /** Begins a run if there is none, so that the session has the tools of its host session before the first call. */
  begin(): Promise<void>;
  /** Submits the next batch if the session takes one now. */
  goOn(): void;
  close(): void;
}

export const newHostBatches = (options: HostBatchesOptions): HostBatches => new Batches(options);

class Batches implements HostBatches {
  readonly #options: HostBatchesOptions;
  readonly #closed = new AbortController();
  #queue: (QueuedCall & { readonly chars: number })[] = [];
  #cancelTimer: (() => void) | null = null;
  #flushing = false;

  constructor(options: HostBatchesOptions) {
    this.#options = options;
  }

  add(call: QueuedCall): boolean {
    if (this.#queue.length >= HOST_CALLS_WAITING_MAX) return false;
    this.#queue.push({ ...call, chars: canonicalText(call.args).length });
    const { clock, feed } = this.#options;
    if (this.#flushing || hostTurn(feed.state()).kind === 'busy') return true;
    this.#cancelTimer ??= clock.after(HOST_WINDOW_MS, () => {
      this.#cancelTimer = null;
      void this.#flush();
    });
    return true;
  }

  withdraw(id: CallId): boolean {
    const before = this.#queue.length;
    this.#queue = this.#queue.filter((queued) => queued.id !== id);
    return this.#queue.length < before;
  }

  withdrawAll(): readonly CallId[] {
    return this.#queue.splice(0).map(({ id }) => id);
  }

  count(): number {
    return this.#queue.length;
  }

  async begin(): Promise<void> {
    const { feed } = this.#options;
    if (hostTurn(feed.state()).kind !== 'none' || (await this.#requestRun()) !== null) return;
    await feed.until((state) => (state.run === null ? null : true));
  }

  goOn(): void {
    if (this.#queue.length > 0 && this.#cancelTimer === null) void this.#flush();
  }

  close(): void {
    this.#closed.abort();
    this.#cancelTimer?.();
  }

  async #flush(): Promise<void> {
    if (this.#flushing || this.#closed.signal.aborted) return;
    this.#flushing = true;
    try {
      await this.#flushNext();
    } catch (error) {
      this.#refuseAll(refusal(error));
    } finally {
      this.#flushing = false;
    }
    // What came while the batch was submitted, unless its end is awaited.
    if (hostTurn(this.#options.feed.state()).kind !== 'busy') this.goOn();
  }

  async #flushNext(): Promise<void> {
    const { feed, onRefused } = this.#options;
    const turn = hostTurn(feed.state());
    if (turn.kind === 'busy' || this.#queue.length === 0) return;
    if (turn.kind === 'blocked') {
      this.#refuseAll(refusedCall('wrong_phase', turn.why));
      return;
    }
    if (turn.kind === 'none') {
      await this.#startRun();
      return await this.#flushNext();
    }
    const batch = this.#takeBatch();
    const { run_id } = turn;
    const calls = batch.map(({ id, tool, args }) => ({ call_id: id, tool_name: tool, arguments: args }));
    const why = await this.#submit({ kind: 'ToolCallsObserved', run_id, turn: turn.turn, calls });
    if (why !== null) {
      for (const { id } of batch) onRefused(id, refusal(why));
      return;
    }
    // Until the feed has read the batch, the session looks as if it took another.
    await feed.until((state) => (state.run?.turn === turn.turn && state.active_tool_batch === null ? null : true));
  }

  #refuseAll(why: CallAnswer): void {
    for (const id of this.withdrawAll()) this.#options.onRefused(id, why);
  }

  /** Requests a run, and waits until it takes calls; throws when it has ended before. */
  async #startRun(): Promise<void> {
    const { feed } = this.#options;
    const { runs_started } = feed.state();
    const refusedBy = await this.#requestRun();
    if (refusedBy !== null && refusedBy.rejection.code !== 'run_already_active') throw refusedBy;
    const why = await feed.until((state) => {
      if (state.runs_started === runs_started) return null;
      if (state.run === null) return state.run_history.at(-1)?.ending.message ?? 'the run has ended';
      return hostTurn(state).kind === 'busy' ? null : '';
    });
    if (why !== '') throw new Error(`the run for the calls has ended: ${why}`);
  }

  #requestRun(): Promise<RejectedError | null> {
    const input = { text: 'calls of a host' };
    return this.#submit({ kind: 'RunRequested', input, run_overrides: HOST_CONFIG });
  }

  #takeBatch(): readonly QueuedCall[] {
    let chars = 0;
    const end = this.#queue.findIndex((made, index) => {
      chars += made.chars;
      return index > 0 && (chars > HOST_BATCH_CHARS_MAX || index >= CALLS_PER_BATCH_MAX);
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  /** Returns null when it is recorded. The event id makes a repetition known, so that calls are made once. */
  async #submit(event: Ingress): Promise<RejectedError | null> {
    const { client, session, clock, newId } = this.#options;
    const events = [{ ...event, event_id: brand<'EventId'>(`host-${newId()}`) }];
    for (let tries = 1; ; tries += 1) {
      const submitted = await client.submit(session, { events })();
      if (!isLeft(submitted)) return null;
      const { code } = submitted.left;
      const mayBeRepeated = code === 'closing' || code === 'storage_unknown' || code === 'queue_full';
      if (!mayBeRepeated || tries >= HOST_SUBMITS_MAX) return new RejectedError(submitted.left);
      await sleep(clock, HOST_SUBMIT_AGAIN_MS, this.#closed.signal);
    }
  }
}

// Stops work in this bridge, and records why. Most work is never stopped, so the platform's `AbortSignal` is created only
// for work that reads it: it costs more than a short call.

export type StopReason = 'timeout' | 'cancelled' | 'lost' | 'stopping';

/** Why a signal was aborted. */
class CallStopped extends Error {
  override readonly name = 'CallStopped';
  readonly why: StopReason;

  constructor(why: StopReason) {
    super(`the call was stopped: ${why}`);
    this.why = why;
  }
}

/** Why the work with this signal was stopped; null while it was not. */
export const stopReasonOf = ({ reason }: AbortSignal): StopReason | null =>
  reason instanceof CallStopped ? reason.why : null;

export class StopSwitch {
  #why: StopReason | null = null;
  #abort: AbortController | null = null;
  #onStop: (() => void) | null = null;

  /** The first reason; null while the work has not been stopped. */
  get why(): StopReason | null {
    return this.#why;
  }

  /** Aborts with a {@link CallStopped}. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#why !== null) this.#abort.abort(new CallStopped(this.#why));
    }
    return this.#abort.signal;
  }

  /** Only the first call has an effect. */
  stop(why: StopReason): void {
    if (this.#why !== null) return;
    this.#why = why;
    this.#abort?.abort(new CallStopped(why));
    this.#onStop?.();
  }

  /** Replaces the listener that {@link stop} calls; there is one at a time. */
  onStop(listener: (() => void) | null): void {
    this.#onStop = listener;
  }
}

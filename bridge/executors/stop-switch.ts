// How work in this bridge is told to stop, and why. Most work ends without being told anything: the platform's signal
// is made only for those that ask for it, because it costs more than a short call does.

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

export class StopSwitch {
  #why: StopReason | null = null;
  #abort: AbortController | null = null;
  #told: (() => void) | null = null;

  /** Why it was thrown first; null while it was not. */
  get why(): StopReason | null {
    return this.#why;
  }

  /** Aborts with a {@link CallStopped} when the switch is thrown. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#why !== null) this.#abort.abort(new CallStopped(this.#why));
    }
    return this.#abort.signal;
  }

  /** The first reason stands. */
  stop(why: StopReason): void {
    if (this.#why !== null) return;
    this.#why = why;
    this.#abort?.abort(new CallStopped(why));
    this.#told?.();
  }

  /** One at a time: called when the switch is thrown. */
  onStop(told: (() => void) | null): void {
    this.#told = told;
  }
}

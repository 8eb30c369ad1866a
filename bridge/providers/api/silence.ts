// Ends a request when the server has been silent for too long, or when the caller needs no answer any more.
import { PROVIDER_SILENCE_MS_DEFAULT } from '../../../schemas/limits.ts';
import type { BridgeClock } from '../../../src/clock.ts';

export interface Silence {
  /** Aborts when the server has been silent for too long, and when the caller's signal does. */
  readonly signal: AbortSignal;
  readonly message: string;
  /** Whether the silence ended the request. */
  isOver(): boolean;
  heard(): void;
  end(): void;
}

interface SilenceOptions {
  readonly clock: Pick<BridgeClock, 'after'>;
  readonly silenceMs?: number;
}

export function watchSilence(
  { clock, silenceMs = PROVIDER_SILENCE_MS_DEFAULT }: SilenceOptions,
  signal: AbortSignal,
): Silence {
  const controller = new AbortController();
  let over = false;
  const start = (): (() => void) =>
    clock.after(silenceMs, () => {
      over = true;
      controller.abort();
    });
  // Signals are joined by hand, because AbortSignal.any keeps memory for each call in Node 20.
  const abort = (): void => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  let cancel = start();
  return {
    signal: controller.signal,
    message: `the server sent no data for ${silenceMs} ms`,
    isOver: () => over,
    heard() {
      cancel();
      cancel = start();
    },
    end() {
      cancel();
      signal.removeEventListener('abort', abort);
    },
  };
}

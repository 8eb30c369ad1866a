// Long work in short slices: between two of them the worker takes the messages that have come.

/** The longest slice, in milliseconds. */
const SLICE_MS = 10;

export interface Slices {
  /** Returns at once while the slice lasts; else when the messages that wait were taken. Throws once it is stopped. */
  breathe(): Promise<void>;
  /** Whether the slice is over. */
  isOver(): boolean;
}

/** Thrown by {@link Slices.breathe} when the work is not wanted any more. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}

export function newSlices(signal?: AbortSignal): Slices {
  let began = performance.now();
  const isOver = (): boolean => performance.now() - began > SLICE_MS;
  const throwIfStopped = (): void => {
    if (signal?.aborted === true) throw new Stopped();
  };
  return {
    isOver,
    async breathe() {
      throwIfStopped();
      if (!isOver()) return;
      await nextTask();
      throwIfStopped();
      began = performance.now();
    },
  };
}

/** The next task of the event loop. A timer would wait: browsers hold nested ones back for 4 ms. */
const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    const received = (): void => {
      port1.close();
      resolve();
    };
    (port1 as unknown as EventTarget).addEventListener('message', received, { once: true });
    port1.start();
    port2.postMessage(null);
  });

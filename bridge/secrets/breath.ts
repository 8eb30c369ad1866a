// Work that takes long is done in slices, and other work of the process runs between them.
import type { Steps } from '../../src/core/steps.ts';

/** Resolves in the next turn of the event loop. */
export const breath = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** The result of all steps, with a breath between two of them: a step is as long as the loop may be held. */
export async function inBreaths<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await breath();
  }
}

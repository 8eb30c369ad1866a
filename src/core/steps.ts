// Long pure work in steps: between two of them its caller may let other work go on.

/** Work that yields between its steps and returns its result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** The result of all steps, one right after the other. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

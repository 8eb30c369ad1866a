// Work that takes long is done in slices, and other work of the process runs between them.

/** Resolves in the next turn of the event loop. */
export const breath = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

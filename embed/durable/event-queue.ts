// Events of a stream between the model that writes them and the loop that reads them.
export interface EventQueue {
  readonly push: (event: object) => void;
  readonly end: () => void;
  /** Ends it with an error, after the events before it. */
  readonly fail: (error: unknown) => void;
  /** The events, as they come; once. */
  readonly events: () => AsyncGenerator<object>;
}

export function newEventQueue(): EventQueue {
  const waiting: object[] = [];
  let over: { readonly error?: unknown } | null = null;
  let wake = (): void => undefined;

  const end = (how: { readonly error?: unknown }): void => {
    over ??= how;
    wake();
  };

  return {
    push(event) {
      waiting.push(event);
      wake();
    },
    end: () => end({}),
    fail: (error) => end({ error }),
    async *events() {
      for (;;) {
        const event = waiting.shift();
        if (event !== undefined) {
          yield event;
        } else if (over !== null) {
          if ('error' in over) throw over.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  };
}

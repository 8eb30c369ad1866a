// The parts of a run until they are read. Reading them is optional, and may begin late; the limits of the run bound them.
import type { RunPart } from './run-parts.ts';

export interface PartQueue {
  readonly push: (part: RunPart) => void;
  /** No part follows; with a fault, reading throws it after the last part. */
  readonly end: (fault?: unknown) => void;
  /** Reads them, once. Parts that come after a reader has left are dropped. Throws when they are read already. */
  readonly read: () => AsyncGenerator<RunPart, void>;
}

export function newPartQueue(): PartQueue {
  let waiting: RunPart[] = [];
  let end: { readonly fault: unknown } | null = null;
  let isRead = false;
  let hasLeft = false;
  let wake: () => void = () => undefined;

  async function* read(): AsyncGenerator<RunPart, void> {
    try {
      for (;;) {
        const parts = waiting;
        waiting = [];
        yield* parts;
        if (waiting.length > 0) continue;
        if (end !== null) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (end.fault !== undefined) throw end.fault;
    } finally {
      hasLeft = true;
      waiting = [];
    }
  }

  return {
    push(part) {
      if (hasLeft) return;
      const last = waiting.at(-1);
      if (part.type === 'text' && last?.type === 'text' && last.turn === part.turn) {
        waiting[waiting.length - 1] = { ...part, text: last.text + part.text };
      } else waiting.push(part);
      wake();
    },
    end(fault) {
      end ??= { fault };
      wake();
    },
    read() {
      if (isRead) throw new Error('the parts of a run are read once: keep them, or take its result()');
      isRead = true;
      return read();
    },
  };
}

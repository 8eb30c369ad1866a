// Where the bridge, which owes an answer of the model, meets the loop of the framework, which asks for it. As a provider it
// waits until the loop brings the answer; the lease of the generate proves meanwhile that no other loop has the run.
import type { GenerateReply, GenerateRequest, Provider, ReplyDelta } from '../../bridge/index.ts';

/** An answer that the bridge owes now. */
export interface OwedTurn {
  readonly run: string;
  readonly turn: number;
  /** Aborts when the answer is not owed by this process any more. */
  readonly signal: AbortSignal;
  readonly onDelta: (delta: ReplyDelta) => void;
  readonly answer: (reply: GenerateReply) => void;
}

export interface Rendezvous {
  readonly provider: Provider;
  /** The answer that is owed; null while none is. */
  readonly owed: () => OwedTurn | null;
}

/** `changed` is called whenever an answer has become owed, or is not owed any more. */
export function newRendezvous(changed: () => void): Rendezvous {
  let owed: OwedTurn | null = null;
  const generate = (
    { run_id, turn }: GenerateRequest,
    signal: AbortSignal,
    onDelta: (delta: ReplyDelta) => void = () => undefined,
  ): Promise<GenerateReply> =>
    new Promise<GenerateReply>((resolve, reject) => {
      const mine: OwedTurn = { run: run_id, turn, signal, onDelta, answer: resolve };
      const leave = (): void => {
        if (owed === mine) owed = null;
        changed();
        reject(signal.reason as Error);
      };
      if (signal.aborted) return leave();
      owed = mine;
      signal.addEventListener('abort', leave, { once: true });
      changed();
    }).finally(() => {
      if (owed?.run === run_id && owed.turn === turn) owed = null;
    });
  return { provider: { generate }, owed: () => owed };
}

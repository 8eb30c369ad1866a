// The answers of people to the questions of one running call, as the engine grants them.
import type { EffectOfKind } from '../../schemas/effect.ts';
import { type ElicitationAnswer, WITHDRAWN } from '../../schemas/elicitation.ts';
import type { EffectId } from '../../schemas/ids.ts';

/** The answers that arrive for one call. */
export interface CallAnswers {
  /** Waits for the answer to a question that is about to be asked; there is one at a time. */
  next(signal: AbortSignal): AwaitedAnswer;
  /** An answer has arrived; false when it is known already. */
  deliver(effect: EffectOfKind<'tool.answer'>): boolean;
}

interface AwaitedAnswer {
  /** Resolves to `cancel` when the call is stopped first, or the question was not recorded. Never rejects. */
  readonly answer: Promise<ElicitationAnswer>;
  giveUp(): void;
}

export function newCallAnswers(): CallAnswers {
  // The engine grants an answer again while it owes it, so an earlier one may arrive while the next question is open.
  const delivered = new Set<EffectId>();
  let waiting: ((answer: ElicitationAnswer) => void) | null = null;
  return {
    next(signal) {
      let giveUp = (): void => undefined;
      const answer = new Promise<ElicitationAnswer>((resolve) => {
        waiting = resolve;
        giveUp = () => resolve(WITHDRAWN);
        signal.addEventListener('abort', giveUp, { once: true });
        if (signal.aborted) giveUp();
      }).finally(() => {
        signal.removeEventListener('abort', giveUp);
        waiting = null;
      });
      return { answer, giveUp };
    },
    deliver({ effect_id, answer }) {
      if (delivered.has(effect_id)) return false;
      delivered.add(effect_id);
      waiting?.(answer);
      return true;
    },
  };
}

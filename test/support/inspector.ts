// The inspector without a page: asks as promises, and the news in order.
import { connect } from '../../src/client/index.ts';
import { type InspectorHost, newInspector } from '../../inspector/folding/inspector.ts';
import type { AnswerTo, AskMessage, AskName, Given, News, Refusal } from '../../inspector/protocol.ts';

export interface Asking {
  ask<A extends AskName>(ask: A, given: Given<A>): Promise<AnswerTo<A>>;
  /** The refusal of an ask that must not be answered. */
  refusal<A extends AskName>(ask: A, given: Given<A>): Promise<Refusal>;
  readonly news: readonly News[];
  close(): Promise<void>;
}

export function newAsking(options: Partial<InspectorHost> = {}): Asking {
  const news: News[] = [];
  const answers = new Map<number, unknown>();
  const refusals = new Map<number, Refusal>();
  let count = 0;
  const inspector = newInspector({
    connect,
    post: (message) => {
      // As a worker's message is: a structured clone.
      const copy = structuredClone(message);
      if ('news' in copy) news.push(copy.news);
      else if ('refused' in copy) refusals.set(copy.number, copy.refused);
      else answers.set(copy.number, copy.answer);
    },
    ...options,
  });
  async function sent<A extends AskName>(ask: A, given: Given<A>): Promise<number> {
    count += 1;
    const number = count;
    await inspector.take({ number, ask, given } as AskMessage);
    return number;
  }
  return {
    news,
    async ask(ask, given) {
      const number = await sent(ask, given);
      const refused = refusals.get(number);
      if (refused !== undefined) throw new Error(`${ask} was refused: ${refused.code}: ${refused.message}`);
      return answers.get(number) as never;
    },
    async refusal(ask, given) {
      const refused = refusals.get(await sent(ask, given));
      if (refused === undefined) throw new Error(`${ask} was answered`);
      return refused;
    },
    close: () => inspector.close(),
  };
}

// The page's end of the line to its worker: asks with promises of their answers, and news as it comes.
import type { AskMessage, AskName, AnswerTo, FromWorker, Given, News, Refusal, ToWorker } from '../protocol.ts';

/** An ask that the worker refused; `refusal` says what to do next. */
export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = 'Refused';
    this.refusal = refusal;
  }
}

export interface Link {
  /** Rejects with {@link Refused}. An aborted ask is withdrawn and never answered. */
  ask<A extends AskName>(ask: A, given: Given<A>, signal?: AbortSignal): Promise<AnswerTo<A>>;
  /** Calls `hear` with all news; the returned function ends it. */
  listen(hear: (news: News) => void): () => void;
}

/** What a worker offers, so that a test can stand in for one. */
export interface Port {
  postMessage(message: ToWorker): void;
  addEventListener(type: 'message', hear: (event: { readonly data: FromWorker }) => void): void;
}

export function newLink(port: Port): Link {
  const open = new Map<number, Open>();
  const hearers = new Set<(news: News) => void>();
  let last = 0;
  port.addEventListener('message', ({ data }) => {
    if ('news' in data) {
      for (const hear of hearers) hear(data.news);
      return;
    }
    const asked = open.get(data.number);
    open.delete(data.number);
    if ('refused' in data) asked?.fail(new Refused(data.refused));
    else asked?.answer(data.answer);
  });
  return {
    ask: (ask, given, signal) =>
      new Promise((answer, fail) => {
        if (signal?.aborted === true) return;
        last += 1;
        const number = last;
        open.set(number, { answer: answer as Open['answer'], fail });
        signal?.addEventListener('abort', () => {
          if (open.delete(number)) port.postMessage({ withdraw: number });
        });
        // The compiler cannot see that a name and what is given with it belong together.
        port.postMessage({ number, ask, given } as unknown as AskMessage);
      }),
    listen(hear) {
      hearers.add(hear);
      return () => hearers.delete(hear);
    },
  };
}

interface Open {
  readonly answer: (value: unknown) => void;
  readonly fail: (error: Refused) => void;
}

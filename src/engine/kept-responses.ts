// The responses of models that a session still keeps. An event may say that its response is kept for so many further turns:
// then the log itself says which may be collected, whatever options a later bridge or collection has.
import { isRight } from 'fp-ts/lib/Either.js';
import { eventCodec } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';

export interface KeptResponses {
  /** The text of the next event of the session, without the reference to a response that is kept for some turns only. */
  textWithout(text: string): string;
  /** The responses that are still kept, of the events so far. */
  kept(): readonly Digest[];
}

export function newKeptResponses(): KeptResponses {
  const named: { readonly ref: Digest; readonly until: number }[] = [];
  const turns = new Set<string>();

  return {
    textWithout(text) {
      if (!text.includes('"turn":')) return text;
      const answer = answerIn(text);
      if (answer === null) return text;
      turns.add(`${answer.run_id} ${answer.turn}`);
      const { response, keep_turns } = answer.exchange ?? {};
      if (response === undefined || keep_turns === undefined) return text;
      named.push({ ref: response, until: turns.size + keep_turns });
      return JSON.stringify({ ...answer, exchange: { ...answer.exchange, response: null } });
    },
    kept: () => named.filter(({ until }) => turns.size < until).map(({ ref }) => ref),
  };
}

const KINDS = ['ToolCallsObserved', 'GenerateFailed', 'ContextCompacted', 'CompactFailed'] as const;

/** The event when it is the answer of a model. */
function answerIn(text: string) {
  const parsed = parseJson(text, BLOB_BYTES_MAX);
  if (!isRight(parsed)) return null;
  const codec = KINDS.map(eventCodec).find((known) => known.is(parsed.right));
  return codec?.is(parsed.right) === true ? parsed.right : null;
}

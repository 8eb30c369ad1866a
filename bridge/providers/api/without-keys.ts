// Cuts the key out of everything that a server sends: some repeat it in errors, and a model may have read it somewhere.
import { clip } from '../../log.ts';
import { redactedValue } from '../../secrets/redact-value.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { type GenerateReply, ProviderError, type ProviderExchange, type ReplyDelta } from '../provider.ts';

/** The message is clipped after that, so that no part of the key remains. */
export const errorWithout = (
  { code, message, retryAfterMs }: ProviderError,
  keys: Redactor,
  exchange: ProviderExchange | null,
): ProviderError => new ProviderError(code, clip(withoutCutKey(keys.text(message), keys)), retryAfterMs, exchange);

/** The layout of a reply goes with it, when the lengths in it no longer fit. */
export async function replyWithout(reply: GenerateReply, keys: Redactor): Promise<GenerateReply> {
  const clean = stopWithout(await redactedValue(reply, keys), keys);
  if (clean.content === reply.content || clean.layout === undefined) return clean;
  const { layout: _, ...rest } = clean;
  return rest;
}

/** The word of a stop is the only text of a reply that is cut before this. */
function stopWithout(reply: GenerateReply, keys: Redactor): GenerateReply {
  const word = reply.stop?.word;
  if (reply.stop === undefined || word === undefined) return reply;
  const clean = withoutCutKey(word, keys);
  return clean === word ? reply : { ...reply, stop: { ...reply.stop, word: clean } };
}

export interface DeltaGate {
  readonly take: (delta: ReplyDelta) => void;
  /** Lets go of what was held back, because it might have been the beginning of a key. */
  readonly end: () => void;
}

/** Passes deltas on; the end of one that may be the beginning of a key waits for the next. */
export function newDeltaGate(keys: Redactor, onDelta: (delta: ReplyDelta) => void): DeltaGate {
  const streams = { thinking: keys.newStream(), text: keys.newStream() };
  const pass = (kind: ReplyDelta['kind'], text: string): void => {
    if (text !== '') onDelta({ kind, text });
  };
  return {
    take: ({ kind, text }) => pass(kind, streams[kind].take(text)),
    end() {
      for (const kind of ['thinking', 'text'] as const) pass(kind, streams[kind].end());
    },
  };
}

/**
 * Without the beginning of a key at the end, where a reader of answers may have cut one: it knows no keys. A character or
 * two are no beginning worth a word.
 */
function withoutCutKey(text: string, keys: Redactor): string {
  const bytes = Buffer.from(text, 'utf8');
  const pending = keys.pending(bytes);
  return pending < CUT_KEY_BYTES_MIN ? text : bytes.toString('utf8', 0, bytes.length - pending);
}

const CUT_KEY_BYTES_MIN = 4;

// Cuts the key out of everything that a server sends: some repeat it in errors, and a model may have read it somewhere.
import { clip } from '../../log.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { type GenerateReply, ProviderError, type ProviderExchange, type ReplyDelta } from '../provider.ts';

/** The message is clipped after that, so that no part of the key remains. */
export const errorWithout = (
  { code, message, retryAfterMs }: ProviderError,
  keys: Redactor,
  exchange: ProviderExchange | null,
): ProviderError => new ProviderError(code, clip(keys.text(message)), retryAfterMs, exchange);

/** The layout of a reply goes with it, when the lengths in it no longer fit. */
export function replyWithout(reply: GenerateReply, keys: Redactor): GenerateReply {
  const clean = keys.value(reply);
  if (clean.content === reply.content || clean.layout === undefined) return clean;
  const { layout: _, ...rest } = clean;
  return rest;
}

export interface DeltaGate {
  readonly take: (delta: ReplyDelta) => void;
  /** Lets go of what was held back, because it might have been the beginning of a key. */
  readonly end: () => void;
}

/** Passes deltas on; the end of one that may be the beginning of a key waits for the next. */
export function newDeltaGate(keys: Redactor, onDelta: (delta: ReplyDelta) => void): DeltaGate {
  const held = { text: '', thinking: '' };
  return {
    take({ kind, text }) {
      const bytes = Buffer.from(held[kind] + text, 'utf8');
      const whole = readyBytes(bytes, keys);
      held[kind] = bytes.toString('utf8', whole);
      if (whole > 0) onDelta({ kind, text: keys.text(bytes.toString('utf8', 0, whole)) });
    },
    end() {
      for (const kind of ['thinking', 'text'] as const) {
        if (held[kind] !== '') onDelta({ kind, text: keys.text(held[kind]) });
        held[kind] = '';
      }
    },
  };
}

/**
 * How many bytes at the beginning hold whole keys only: what may begin a key waits, and a key whose own end may begin another
 * one waits with it.
 */
function readyBytes(bytes: Buffer, keys: Redactor): number {
  let ready = bytes.length - keys.pending(bytes);
  if (ready === bytes.length || !keys.has(bytes)) return ready;
  const text = (start: number, end: number): string => keys.text(bytes.toString('utf8', start, end));
  const all = text(0, bytes.length);
  while (ready > 0 && text(0, ready) + text(ready, bytes.length) !== all) ready -= 1;
  return ready;
}

// Cuts the key out of everything that a server sends: some repeat it in errors, and a model may have read it somewhere.
import { clip } from '../../log.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { type GenerateReply, ProviderError, type ReplyDelta } from '../provider.ts';

/** The message is clipped after that, so that no part of the key remains. */
export const errorWithout = ({ code, message, retryAfterMs }: ProviderError, keys: Redactor): ProviderError =>
  new ProviderError(code, clip(keys.text(message)), retryAfterMs);

/** The layout of a reply goes with it, when the lengths in it no longer fit. */
export function replyWithout(reply: GenerateReply, keys: Redactor): GenerateReply {
  const clean = keys.value(reply);
  if (clean.content === reply.content || clean.layout === undefined) return clean;
  const { layout: _, ...rest } = clean;
  return rest;
}

export interface DeltaGate {
  take(delta: ReplyDelta): void;
  /** Lets go of what was held back, because it might have been the beginning of a key. */
  end(): void;
}

/** Passes deltas on; the end of one that may be the beginning of a key waits for the next. */
export function newDeltaGate(keys: Redactor, onDelta: (delta: ReplyDelta) => void): DeltaGate {
  const held = { text: '', thinking: '' };
  return {
    take({ kind, text }) {
      const bytes = Buffer.from(held[kind] + text, 'utf8');
      const whole = bytes.length - keys.pending(bytes);
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

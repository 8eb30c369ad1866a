// What a reader has seen of a text while the model wrote it. When the turn is recorded, the reader gets the rest of its text
// and no more; when it saw anything else, the block begins anew.
import type { BlobText } from '../../../schemas/content.ts';
import { EXCERPT_CHARS, INLINE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import type { ClientEvent, StreamedEvent, StreamedText } from './client-event.ts';

/** Joins the deltas of one reader to the events of the record. It keeps INLINE_CHARS_MAX characters or so. */
export interface LiveText {
  /** What the reader gets of a frame: no event of it has an id. */
  add(frame: DeltaFrame): readonly ClientEvent[];
  /** What the reader gets of the events of one position. */
  join(events: readonly StreamedEvent[]): readonly StreamedEvent[];
}

export function newLiveText(): LiveText {
  /** The text of the open block; null when none is open, or when the reader saw text that no longer holds. */
  let seen: Seen | null = null;
  let turn = '';

  return {
    add({ run_id, turn: number, parts, retract }) {
      const now = `${run_id} ${number}`;
      if (retract === true || now !== turn) seen = null;
      turn = now;
      const events: ClientEvent[] = [];
      for (const { kind, text } of parts) {
        if (kind === 'thinking') {
          events.push({ event: 'thinking_delta', data: { text } });
          continue;
        }
        if (seen === null) events.push({ event: 'content_block_start', data: { block_index: 0, block_type: 'text' } });
        events.push({ event: 'text_delta', data: { text } });
        seen = more(seen ?? NOTHING, text);
      }
      return events;
    },
    join(events) {
      const at = events.findIndex(({ event }) => event === 'text_delta');
      const recorded = events[at];
      if (recorded?.event !== 'text_delta') return events;
      const rest = seen === null ? null : restOf(recorded.data.text, seen);
      seen = null;
      if (rest === null) return events;
      // The block is open already, so the event before the text, which opens it, is left out.
      const delta = rest === '' ? [] : [{ ...recorded, data: { text: rest } }];
      return [...events.slice(0, Math.max(0, at - 1)), ...delta, ...events.slice(at + 1)];
    },
  };
}

/** A text: its first characters, its last ones, and its size in UTF-8. */
interface Seen {
  readonly first: string;
  readonly last: string;
  readonly bytes: number;
}

const NOTHING: Seen = { first: '', last: '', bytes: 0 };

const more = ({ first, last, bytes }: Seen, text: string): Seen => ({
  // A text that is longer than that is recorded as a blob.
  first: `${first}${text}`.slice(0, INLINE_CHARS_MAX + 1),
  last: `${last}${text}`.slice(-EXCERPT_CHARS),
  bytes: bytes + new TextEncoder().encode(text).length,
});

/** What a recorded text has beyond what was seen of it; null when something else was seen. */
function restOf(text: StreamedText, seen: Seen): string | null {
  if (typeof text !== 'string') return isWhole(text, seen) ? '' : null;
  return text.startsWith(seen.first) ? text.slice(seen.first.length) : null;
}

const isWhole = ({ bytes, head, tail }: BlobText, seen: Seen): boolean =>
  seen.bytes === bytes && seen.first.startsWith(head) && seen.last.endsWith(tail);

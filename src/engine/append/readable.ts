// Checks that an event can be read again once it is stored. The edge may turn a small request into a large event: when
// several calls name one blob of arguments, each gets all the claims in that blob.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import { checkJson } from '../../../schemas/json.ts';
import { EVENT_CHARS_MAX, JSON_NODES_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';

/** Why the event could not be read from the journal or an exported line, else null. `text`: its canonical text. */
export function findUnreadable(event: IngressEvent, text: string): Rejection | null {
  const advice = 'make fewer calls in one turn';
  if (text.length > EVENT_CHARS_MAX) {
    const size = `the event would have ${text.length} characters; the limit is ${EVENT_CHARS_MAX}`;
    return reject('too_large', '', `${size}; ${advice}`);
  }
  // A value takes at least two characters.
  if (text.length < 2 * (JSON_NODES_MAX - RECORD_VALUES)) return null;
  const record = checkJson([event, ...Array.from({ length: RECORD_VALUES }, () => null)]);
  if (!isLeft(record)) return null;
  return reject('too_large', '', `the event would have ${record.left.message}; ${advice}`);
}

/** Values that an exported line contains besides its event. */
const RECORD_VALUES = 16;

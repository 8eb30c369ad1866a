// Whether an event can be read again once it is stored. The edge may make a large event of a small request: of several
// calls that name one blob of arguments, each gets all the claims that the blob contains.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../../schemas/event.ts';
import { checkJson } from '../../../schemas/json.ts';
import { EVENT_CHARS_MAX, JSON_NODES_MAX } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';

/** Why it could not be read from the journal or from an exported line; null when it can. `text`: the event's text. */
export function findUnreadable(event: IngressEvent, text: string): Rejection | null {
  const advice = 'make fewer calls at a time';
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

// Whether an event can be read again once it is stored. A request is small, and yet the edge may make much of it: calls
// that name one blob of arguments get all the claims that are in it, each of them.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../schemas/event.ts';
import { checkJson } from '../../schemas/json.ts';
import { EVENT_CHARS_MAX, JSON_NODES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';

/** Why it could not be read from the journal or from an exported line; null when it can. `text`: the event's own. */
export function findUnreadable(event: IngressEvent, text: string): Rejection | null {
  const advice = 'make fewer calls at a time';
  if (text.length > EVENT_CHARS_MAX) {
    const size = `the event would have ${text.length} characters; at most ${EVENT_CHARS_MAX} are recorded`;
    return reject('too_large', '', `${size}; ${advice}`);
  }
  // A value takes two characters at least.
  if (text.length < 2 * (JSON_NODES_MAX - RECORD_VALUES)) return null;
  const record = checkJson([event, ...Array.from({ length: RECORD_VALUES }, () => null)]);
  if (!isLeft(record)) return null;
  return reject('too_large', '', `the event would have ${record.left.message}; ${advice}`);
}

/** Values that an exported line has around its event. */
const RECORD_VALUES = 16;

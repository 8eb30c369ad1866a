// The bounds that admission and the edge hold every live event to, for an event that is imported: loading and showing a
// session takes one turn for each of its events. No event that an engine recorded exceeds them.
import { canonicalText } from '../../../schemas/canonical.ts';
import { EVENT_CHARS_MAX, EVENT_VALUES_MAX, INLINE_CHARS_MAX } from '../../../schemas/limits.ts';
import type { CommitRecord } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import { type RecordedEvent, upcast } from '../../../schemas/upcast.ts';
import type { JournalCommit } from '../../journal/journal.ts';

/** The first event of a commit that is larger than an engine records, with its position; null when there is none. */
export function findUnbounded({ position, events }: CommitRecord, stored: JournalCommit): Rejection | null {
  for (const [index, event] of events.entries()) {
    const fault = faultOf(event, stored.events[index]?.text ?? '');
    if (fault !== null)
      return reject('too_large', '', `position ${position + index}: ${fault}; refold records no such event`);
  }
  return null;
}

function faultOf(event: RecordedEvent, text: string): string | null {
  if (text.length > EVENT_CHARS_MAX) return `the event has ${text.length} characters; the limit is ${EVENT_CHARS_MAX}`;
  // A value takes at least two characters.
  if (text.length > EVENT_VALUES_MAX && marksOf(event) > EVENT_VALUES_MAX) {
    return `the event has more than ${EVENT_VALUES_MAX} commas and brackets`;
  }
  const inline = callsOf(event).find((call) => charsOf(call) > INLINE_CHARS_MAX);
  return inline === undefined
    ? null
    : `call ${inline.call_id} has more than ${INLINE_CHARS_MAX} characters of arguments, which belong into a blob`;
}

function callsOf(recorded: RecordedEvent): readonly ToolCallObserved[] {
  const event = upcast(recorded);
  if (event.kind === 'ToolCallsObserved') return event.calls;
  return event.kind === 'user.tool_confirmation' && event.instead !== undefined ? [event.instead] : [];
}

const charsOf = ({ arguments: args, arguments_text }: ToolCallObserved): number =>
  args === undefined ? (arguments_text ?? '').length : canonicalText(args).length;

/** The commas and brackets of the text of a value, without those of claims, which the edge computes. */
function marksOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const entries = Object.entries(value);
  let marks = 1 + Math.max(1, entries.length);
  for (const [key, child] of entries) if (key !== 'claims') marks += marksOf(child);
  return marks;
}

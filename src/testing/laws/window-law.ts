// Law 21, the window is whole: what a summary stands for. It replaces whole pages, which end where no batch is open, and
// everything after them stays. The check compares the entries before and after an event, because a second fold would repeat
// a fault of the fold.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { SessionState, TranscriptEntry } from '../../../schemas/state.ts';
import type { Judge } from './judge.ts';
import { sameJson } from './owed-effects.ts';
import type { FoldedEvent, StoredSession } from './stored-session.ts';
import { findUnpaired } from './stream-laws.ts';

const LAW = 'the window is whole';

/** Checks one event, and counts the calls that the summary stands for. */
export function checkWindow(stored: StoredSession, folded: FoldedEvent, judge: Judge): void {
  if (folded.event.kind === 'ContextCompacted') checkReplaced(stored, { ...folded, event: folded.event }, judge);
  else checkKept(folded, judge);
}

/** The entries that the model is shown after the summary. */
export const windowOf = (stored: StoredSession, { transcript }: SessionState): readonly TranscriptEntry[] => [
  ...stored.entriesOf(transcript.sealed),
  ...transcript.open,
];

/** The summary stands for the pages through the named one, and the rest of the window stays as it was. */
function checkReplaced(
  stored: StoredSession,
  { before, state, event }: FoldedEvent & { readonly event: EventOfKind<'ContextCompacted'> },
  judge: Judge,
): void {
  const { event_id, through, summary } = event;
  const pages = before.transcript.sealed;
  const end = pages.indexOf(through) + 1;
  judge.check(end > 0, LAW, () => `${event_id} ends with a page that is not in the window`);
  const replaced = stored.entriesOf(pages.slice(0, end));
  const kept = [...stored.entriesOf(pages.slice(end)), ...before.transcript.open];
  const fault = findUnpaired(replaced) ?? findUnpaired(kept);
  judge.check(fault === null, LAW, () => `${event_id} parts calls from their results: ${fault}`);
  const now = windowOf(stored, state);
  const same = kept.every((entry, index) => sameJson(entry, now[index]));
  judge.check(same, LAW, () => `${event_id} changes what comes after the pages that it replaces`);
  const added = now.slice(kept.length).every(({ role }) => role === 'user');
  judge.check(added, LAW, () => `${event_id} adds more to the conversation than messages of the user`);
  const held = state.transcript.summary;
  const isHeld = held?.through === through && sameJson(held.content, summary);
  judge.check(isHeld, LAW, () => `${event_id}: its summary is not in the window`);
  const counted = held?.count === before.transcript.count - kept.length;
  judge.check(counted, LAW, () => `${event_id}: its summary stands for ${held?.count} entries`);
  stored.replacedCalls += replaced.flatMap(({ calls = [] }) => calls).length;
}

/** Any other event leaves the summary and the entries as they are, and may add entries. */
function checkKept({ event, before, state }: FoldedEvent, judge: Judge): void {
  const { sealed, summary, count } = before.transcript;
  const now = state.transcript;
  const kept =
    sameJson(summary, now.summary) && sealed.every((page, index) => page === now.sealed[index]) && now.count >= count;
  judge.check(kept, LAW, () => `${event.event_id} (${event.kind}) takes entries out of the window`);
}

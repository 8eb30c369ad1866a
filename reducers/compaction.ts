// Compaction: when the pages of the conversation are to be replaced by a summary, which pages, and what the window holds
// then. It is owed before the generate of a turn, once in a turn, where no batch is open.
import type { EventOfKind } from '../schemas/event.ts';
import { COMPACT_ENTRIES_MIN } from '../schemas/limits.ts';
import { type Rejection, invariant, reject } from '../schemas/rejection.ts';
import { type Compaction, type ContextPolicy, type RunState, type Usage, isExternal } from '../schemas/run.ts';
import type { SessionState, TranscriptEntry, TranscriptState } from '../schemas/state.ts';
import { type NextState, inOrder, liveRun } from './next-state.ts';

/** Whether the turn waits for a compaction before its generate. */
export const owesCompaction = ({ compact }: RunState): boolean => compact?.answered === false;

/** Keeps the tokens of the last generate, which the next turn is judged by; without a policy nothing is kept. */
export function noteTokens(next: NextState, usage: Usage | undefined, context: ContextPolicy | null | undefined): void {
  const known = (context ?? null) !== null && usage !== undefined;
  if (!known && next.transcript.used === undefined) return;
  const { used: _before, ...transcript } = next.transcript;
  const used = known ? Math.min(usage.input_tokens + usage.output_tokens, Number.MAX_SAFE_INTEGER) : undefined;
  next.transcript = used === undefined ? transcript : inOrder({ ...transcript, used });
}

/** Makes a compaction owed before the generate of the new turn, when the cause applies and there is what to compact. */
export function planCompaction(next: NextState, cause: Compaction['cause']): void {
  const run = liveRun(next);
  const { transcript } = next;
  // The host of an external run has a conversation of its own.
  const isAboveMark = !isExternal(run) && (transcript.used ?? 0) > (run.config.context?.mark ?? Infinity);
  const isDue = (cause === 'context_length' || isAboveMark) && canCompact(transcript, cause);
  if (isDue) next.run = inOrder({ ...run, compact: { answered: false, cause } });
  else if (run.compact !== undefined) next.run = withoutCompaction(run);
}

function withoutCompaction({ compact: _before, ...run }: RunState): RunState {
  return run;
}

/** Whether anything but the messages that wait for an answer is in the window, besides a summary. */
export const canCompact = ({ sealed, open }: TranscriptState, cause: Compaction['cause']): boolean =>
  sealed.length > 0 || earlyEnd(open, cause) > 0;

/**
 * Where the open page ends when it is sealed early: before the messages of the user that wait for an answer. 0 when it
 * stays open. Above the mark, short pages are not made: many of them would push others out of the window.
 */
function earlyEnd(open: readonly TranscriptEntry[], cause: Compaction['cause']): number {
  const end = open.findLastIndex(({ role }) => role !== 'user') + 1;
  return end >= (cause === 'mark' ? COMPACT_ENTRIES_MIN : 1) ? end : 0;
}

/** How many entries of the open page are sealed for a compaction that became owed in this step; null without one. */
export function earlySeal({ run, transcript }: SessionState): number | null {
  const compact = run?.compact;
  if (compact === undefined || compact.answered || compact.through !== undefined) return null;
  return earlyEnd(transcript.open, compact.cause);
}

/** The live run with the page that its compaction ends with: the last sealed one. */
export function withCompactedPage(run: RunState, { sealed, count, open }: TranscriptState): RunState {
  const through = sealed.at(-1);
  invariant(run.compact !== undefined && through !== undefined, 'a compaction that is owed has a page to end with');
  return { ...run, compact: inOrder({ ...run.compact, through, count: count - open.length }) };
}

/** The conversation that is compacted: all before the entries that stay. */
export function compactedPart({ transcript }: SessionState, { through, count = 0 }: Compaction): TranscriptState {
  const { sealed, summary } = transcript;
  const pages = sealed.slice(0, through === undefined ? 0 : sealed.indexOf(through) + 1);
  return { count, open: [], sealed: pages, ...(summary === undefined ? {} : { summary }) };
}

/** Replaces the pages by the summary. */
export function replacePages(next: NextState, { through, summary: content }: EventOfKind<'ContextCompacted'>): void {
  const { used: _before, ...transcript } = next.transcript;
  const count = liveRun(next).compact?.count ?? transcript.count;
  const sealed = transcript.sealed.slice(transcript.sealed.indexOf(through) + 1);
  next.transcript = inOrder({ ...transcript, sealed, summary: { content, count, through } });
}

export function admitCompacted({ run }: SessionState, event: EventOfKind<'ContextCompacted'>): Rejection | null {
  const asked = run?.compact?.through;
  return event.through === asked
    ? null
    : reject('wrong_page', '/through', `the compaction ends with the page ${asked ?? 'none'}`);
}

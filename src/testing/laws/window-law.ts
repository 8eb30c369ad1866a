// Law 21, the window is whole: a summary stands for whole pages, which end where no batch is open; everything after them
// stays. A compaction is answered at most once, tried in one turn, and no generate is owed before its answer. The check
// reads the entries that the events have led to, because a second fold would repeat a fault of the fold.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { RunId } from '../../../schemas/ids.ts';
import type { SessionState, TranscriptEntry } from '../../../schemas/state.ts';
import type { Judge } from './judge.ts';
import { owedEffects, sameJson } from './owed-effects.ts';
import type { FoldedEvent, StoredSession } from './stored-session.ts';
import { findUnpaired } from './stream-laws.ts';

export type WindowLaw = (stored: StoredSession, folded: FoldedEvent) => void;

/** A turn that a compaction was owed for. */
interface Compacting {
  readonly cause: 'mark' | 'context_length';
  answered: boolean;
  failures: number;
}

const LAW = 'the window is whole';

/** For one session. */
export function newWindowLaw(judge: Judge): WindowLaw {
  const turns = new Map<string, Compacting>();

  function check(stored: StoredSession, folded: FoldedEvent): void {
    const { event, before, state } = folded;
    if (event.kind === 'ContextCompacted') {
      answer(event, () => 'summarised');
      checkReplaced(stored, folded, event);
    } else if (event.kind === 'CompactFailed') checkFailed(event, before, state);
    else checkKept(folded);
    if (event.kind === 'GenerateFailed' && event.code === 'context_length') checkTooLong(event, state);
    if (event.kind === 'ToolCallsObserved') {
      const early = turns.get(nameOf(event))?.answered === false;
      judge.check(!early, LAW, () => `${event.event_id}: the model answered before its conversation was compacted`);
    }
    noteOwed(stored, state);
  }

  /** Notes the answer to a compaction, which must be the only one. */
  function answer(event: EventOfKind<'ContextCompacted' | 'CompactFailed'>, how: () => string): void {
    const turn = turns.get(nameOf(event));
    const isFirst = turn?.answered === false;
    judge.check(isFirst, LAW, () => `${event.event_id}: the compaction of ${nameOf(event)} was ${how()} again`);
    if (turn !== undefined) turn.answered = true;
  }

  /** A failure counts as the answer when the compaction is not tried again. */
  function checkFailed(event: EventOfKind<'CompactFailed'>, before: SessionState, state: SessionState): void {
    const turn = turns.get(nameOf(event));
    if (turn === undefined || before.run === null) {
      judge.fail(LAW, `${event.event_id}: no compaction was owed`);
      return;
    }
    turn.failures += 1;
    const isTried = event.retryable === true && turn.failures < before.run.config.retry.attempts_max;
    if (isTried) return;
    answer(event, () => 'given up');
    const ended = state.run?.run_id !== event.run_id;
    const isTooLong = turn.cause === 'context_length';
    judge.check(!isTooLong || ended, LAW, () => `${event.run_id} continues with a conversation that is too long`);
  }

  /** A conversation that is too long after its compaction ends the run. */
  function checkTooLong(event: EventOfKind<'GenerateFailed'>, state: SessionState): void {
    const isAgain = turns.get(nameOf(event))?.cause === 'context_length';
    const ended = state.run?.run_id !== event.run_id;
    judge.check(!isAgain || ended, LAW, () => `${event.run_id} is compacted again, though it did not help`);
  }

  function noteOwed(stored: StoredSession, state: SessionState): void {
    const { run } = state;
    if (run === null) return;
    const name = nameOf(run);
    const owed = owedEffects(state);
    const compact = owed.find(({ kind }) => kind === 'llm.compact');
    const generate = owed.find(({ kind }) => kind === 'llm.generate');
    if (compact !== undefined) {
      const known = turns.get(name);
      judge.check(known?.answered !== true, LAW, () => `the compaction of ${name} is owed again`);
      judge.check(state.active_tool_batch === null, LAW, () => `${name} is compacted while a batch is open`);
      if (known === undefined) turns.set(name, { cause: causeOf(state), answered: false, failures: 0 });
    }
    if (generate === undefined) return;
    const early = turns.get(name)?.answered === false;
    judge.check(!early, LAW, () => `${generate.effect_id} is owed before its compaction is answered`);
    stored.asked.set(name, { calls: stored.replacedCalls, summary: summaryOf(state) });
  }

  /** The summary stands for the pages through the named one, and the rest of the window stays as it was. */
  function checkReplaced(
    stored: StoredSession,
    { before, state }: FoldedEvent,
    { event_id, through, summary }: EventOfKind<'ContextCompacted'>,
  ): void {
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
  function checkKept({ event, before, state }: FoldedEvent): void {
    const { sealed, summary, count } = before.transcript;
    const now = state.transcript;
    const kept =
      sameJson(summary, now.summary) && sealed.every((page, index) => page === now.sealed[index]) && now.count >= count;
    judge.check(kept, LAW, () => `${event.event_id} (${event.kind}) takes entries out of the window`);
  }

  return check;
}

const nameOf = ({ run_id, turn }: { readonly run_id: RunId; readonly turn: number }): string => `${run_id}/${turn}`;

const causeOf = ({ run }: SessionState): Compacting['cause'] => run?.compact?.cause ?? 'mark';

/** The text that the model is shown for the summary; null without one. */
function summaryOf({ transcript }: SessionState): string | null {
  const content = transcript.summary?.content;
  if (content === undefined) return null;
  return 'text' in content ? content.text : content.head;
}

const windowOf = (stored: StoredSession, { transcript }: SessionState): readonly TranscriptEntry[] => [
  ...stored.entriesOf(transcript.sealed),
  ...transcript.open,
];

// Law 21, the window is whole: when a conversation is compacted. A compaction is owed when the last answer took more tokens
// than the mark, or when a conversation was too long; it is answered at most once, tried in one turn, and no generate is
// owed before its answer. window-law.ts checks what the summary stands for.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { RunId } from '../../../schemas/ids.ts';
import { COMPACT_ENTRIES_MIN } from '../../../schemas/limits.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Judge } from './judge.ts';
import { owedEffects } from './owed-effects.ts';
import type { FoldedEvent, StoredSession } from './stored-session.ts';
import { windowOf } from './window-law.ts';

export type CompactionLaw = (stored: StoredSession, folded: FoldedEvent) => void;

/** A turn that a compaction was owed for. */
interface Compacting {
  readonly cause: 'mark' | 'context_length';
  answered: boolean;
  failures: number;
}

/** What the events of a session have said about its compactions. */
interface Known {
  readonly judge: Judge;
  readonly turns: Map<string, Compacting>;
  /** The turns whose generate or compaction has been owed. */
  readonly begun: Set<string>;
  /** The tokens of the last answer; 0 when they are not known, or were compacted since. */
  used: number;
  /** The last generate failed because the conversation was too long, and its run goes on. */
  isTooLong: boolean;
}

const LAW = 'the window is whole';

/** For one session. */
export function newCompactionLaw(judge: Judge): CompactionLaw {
  const known: Known = { judge, turns: new Map(), begun: new Set(), used: 0, isTooLong: false };
  return (stored, folded) => {
    const { event, state } = folded;
    if (event.kind === 'ContextCompacted') noteAnswer(known, event);
    else if (event.kind === 'CompactFailed') checkFailed(known, event, folded);
    else if (event.kind === 'GenerateFailed') checkGenerateFailed(known, event, state);
    else if (event.kind === 'ToolCallsObserved') {
      const isEarly = known.turns.get(nameOf(event))?.answered === false;
      judge.check(!isEarly, LAW, () => `${event.event_id}: the model answered before its conversation was compacted`);
      known.used = (event.usage?.input_tokens ?? 0) + (event.usage?.output_tokens ?? 0);
      known.isTooLong = false;
    }
    noteOwed(known, stored, state);
  };
}

/** Notes the answer to a compaction, which must be the only one. */
function noteAnswer(known: Known, event: EventOfKind<'ContextCompacted' | 'CompactFailed'>): void {
  const turn = known.turns.get(nameOf(event));
  const isFirst = turn?.answered === false;
  known.judge.check(isFirst, LAW, () => `${event.event_id}: no compaction waits for an answer`);
  if (turn !== undefined) turn.answered = true;
  known.used = 0;
}

/** A failure counts as the answer when the compaction is not tried again. */
function checkFailed(known: Known, event: EventOfKind<'CompactFailed'>, { before, state }: FoldedEvent): void {
  const turn = known.turns.get(nameOf(event));
  const attempts = before.run?.config.retry.attempts_max ?? 0;
  if (turn !== undefined) turn.failures += 1;
  if (event.retryable === true && (turn?.failures ?? 0) < attempts) return;
  noteAnswer(known, event);
  const isHopeless = turn?.cause === 'context_length';
  const isOver = !isHopeless || hasEnded(event, state);
  known.judge.check(isOver, LAW, () => `${event.run_id} continues with a conversation that is too long`);
}

/** A conversation that is too long after its compaction ends the run. */
function checkGenerateFailed(known: Known, event: EventOfKind<'GenerateFailed'>, state: SessionState): void {
  known.isTooLong = event.code === 'context_length' && !hasEnded(event, state);
  const isAgain = known.turns.get(nameOf(event))?.cause === 'context_length';
  const isOver = !isAgain || !known.isTooLong;
  known.judge.check(isOver, LAW, () => `${event.run_id} is compacted again, though it did not help`);
}

function noteOwed(known: Known, stored: StoredSession, state: SessionState): void {
  const { judge, turns, begun } = known;
  const owed = owedEffects(state);
  const compact = owed.find((effect) => effect.kind === 'llm.compact');
  const generate = owed.find((effect) => effect.kind === 'llm.generate');
  const asked = compact ?? generate;
  if (asked === undefined) return;
  const name = nameOf(asked);
  if (!begun.has(name)) checkDue(known, stored, state, compact !== undefined);
  begun.add(name);
  if (compact !== undefined) {
    judge.check(turns.get(name)?.answered !== true, LAW, () => `the compaction of ${name} is owed again`);
    judge.check(state.active_tool_batch === null, LAW, () => `${name} is compacted while a batch is open`);
    if (!turns.has(name)) turns.set(name, { cause: causeOf(state), answered: false, failures: 0 });
  }
  if (generate === undefined) return;
  const isEarly = turns.get(name)?.answered === false;
  judge.check(!isEarly, LAW, () => `${generate.effect_id} is owed before its compaction is answered`);
  stored.asked.set(name, { calls: stored.replacedCalls, summary: summaryOf(state) });
}

/** A conversation is compacted before a turn when there is a cause and enough to compact, and only then. */
function checkDue(
  { judge, used, isTooLong }: Known,
  stored: StoredSession,
  state: SessionState,
  isOwed: boolean,
): void {
  const { run } = state;
  const isAbove = used > (run?.config.context?.mark ?? Infinity);
  const isEnough = windowOf(stored, state).findLastIndex(({ role }) => role !== 'user') + 1 >= COMPACT_ENTRIES_MIN;
  const when = () => `${run?.run_id} turn ${run?.turn}, ${used} tokens after the last answer`;
  judge.check(isOwed || !isAbove || !isEnough, LAW, () => `${when()}: it is not compacted`);
  judge.check(!isOwed || isAbove || isTooLong, LAW, () => `${when()}: it is compacted`);
}

const nameOf = ({ run_id, turn }: { readonly run_id: RunId; readonly turn: number }): string => `${run_id}/${turn}`;

const hasEnded = ({ run_id }: { readonly run_id: RunId }, { run }: SessionState): boolean => run?.run_id !== run_id;

const causeOf = ({ run }: SessionState): Compacting['cause'] => run?.compact?.cause ?? 'mark';

/** The text that the model is shown for the summary; null without one. */
function summaryOf({ transcript }: SessionState): string | null {
  const content = transcript.summary?.content;
  if (content === undefined) return null;
  return 'text' in content ? content.text : content.head;
}

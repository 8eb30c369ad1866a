// Explains what happened in a turn of the model while its stream is folded: the compaction before it and why, the failures,
// why the model stopped, what was kept of its answer, and how the run ended. Each run has turns of its own, so a number may
// name several.
import type { EventOfKind } from '../../schemas/event.ts';
import type { RunId } from '../../schemas/ids.ts';
import type { ModelApi, Stop } from '../../schemas/model-turn.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import type { RunEnding, RunState, Usage } from '../../schemas/run.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type CompactionExplanation, advanceCompaction, beginCompaction, isOpen } from './explain-compaction.ts';
import { type Moment, momentOf } from './explain-confirmation.ts';
import type { FoldedEvent } from './folded-event.ts';
import { newReplayer } from './replay.ts';

export interface TurnExplanation {
  readonly run_id: RunId;
  readonly turn: number;
  readonly began: Moment;
  /** The compaction of the conversation before it; null when none was due. */
  readonly compaction: CompactionExplanation | null;
  /** The generates that failed, in order. */
  readonly failures: readonly TurnFailure[];
  /** Null when the model gave no answer. */
  readonly answer: TurnAnswer | null;
  /** How the run ended in this turn; null when it went on, or is still in it. */
  readonly ending: Omit<RunEnding, 'output'> | null;
}

export interface TurnFailure extends Moment {
  readonly code: string;
  readonly message: string;
  /** It was tried again in the same turn. */
  readonly again: boolean;
}

export interface TurnAnswer extends Moment {
  readonly calls: number;
  readonly has_text: boolean;
  /** Null when the bridge did not say why the model stopped. */
  readonly stop: Stop | null;
  /** The API and the model that its further parts go back to, and their size; null when there are none. */
  readonly layout: { readonly api: ModelApi; readonly model: string; readonly bytes: number } | null;
  readonly usage: Usage | null;
}

/** Collects the turns with one number while a stream is folded. */
export interface TurnHistory {
  add(folded: FoldedEvent): void;
  /** Those turns so far, in the order in which they began. */
  result(): readonly TurnExplanation[];
}

export function newTurnHistory(turn: number): TurnHistory {
  const turns: TurnExplanation[] = [];
  /** The last one is the turn that the run is in. */
  let isLive = false;
  return {
    add(folded) {
      const last = turns.at(-1);
      if (isLive && last !== undefined) {
        turns[turns.length - 1] = advance(last, folded);
        isLive = isIn(last, folded.after);
      }
      const { run } = folded.after;
      if (run === null || run.turn !== turn || (isLive && turns.at(-1)?.run_id === run.run_id)) return;
      turns.push(begin(run, folded));
      isLive = true;
    },
    result: () => turns,
  };
}

/** Explains the turns with this number in a whole stream. Stops where the stream does not fold as recorded. */
export function explainTurn(records: Iterable<StreamRecord>, turn: number): readonly TurnExplanation[] {
  const history = newTurnHistory(turn);
  const replayer = newReplayer((folded) => history.add(folded));
  for (const record of records) if (!replayer.add(record)) break;
  return history.result();
}

const isIn = ({ run_id, turn }: TurnExplanation, { run }: SessionState): boolean =>
  run?.run_id === run_id && run.turn === turn;

const begin = ({ run_id, turn }: RunState, folded: FoldedEvent): TurnExplanation => ({
  run_id,
  turn,
  began: momentOf(folded),
  compaction: beginCompaction(folded),
  failures: [],
  answer: null,
  ending: null,
});

function advance(known: TurnExplanation, folded: FoldedEvent): TurnExplanation {
  const { event, after } = folded;
  const { run_id } = known;
  const moment = momentOf(folded);
  const record = after.run?.run_id === run_id ? undefined : after.run_history.find((run) => run.run_id === run_id);
  const ending = record === undefined ? known.ending : withoutOutput(record.ending);
  const { compaction } = known;
  const turn = {
    ...known,
    ending,
    compaction: compaction !== null && isOpen(compaction) ? advanceCompaction(compaction, folded) : compaction,
  };
  if (event.kind === 'ToolCallsObserved') return { ...turn, answer: answerOf(event, moment) };
  if (event.kind !== 'GenerateFailed') return turn;
  const { code, message } = event;
  return { ...turn, failures: [...known.failures, { ...moment, code, message, again: isIn(known, after) }] };
}

const withoutOutput = ({ outcome, code, message }: RunEnding): TurnExplanation['ending'] => ({
  outcome,
  code,
  message,
});

function answerOf(
  { calls, content, stop, layout, usage }: EventOfKind<'ToolCallsObserved'>,
  moment: Moment,
): TurnAnswer {
  return {
    ...moment,
    calls: calls.length,
    has_text: content !== undefined,
    stop: stop ?? null,
    layout: layout === undefined ? null : { api: layout.api, model: layout.model, bytes: sizeOf(layout.parts) },
    usage: usage ?? null,
  };
}

const sizeOf = (parts: NonNullable<EventOfKind<'ToolCallsObserved'>['layout']>['parts']): number =>
  'text' in parts ? new TextEncoder().encode(parts.text).length : parts.bytes;

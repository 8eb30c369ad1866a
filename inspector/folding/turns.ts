// Turns as cards and in detail. A turn is folded again from the state that is kept before it, and everything that the page
// shows of it is collected on the way.
import { callStateAt } from '../../reducers/batch-index.ts';
import { shownArguments } from '../../schemas/tool-call.ts';
import type { Content } from '../../schemas/content.ts';
import type { Usage } from '../../schemas/run.ts';
import type { ActiveToolBatch, CallState, TranscriptEntry, TranscriptPage } from '../../schemas/state.ts';
import { batchAfter, callsMade, refusedTurn } from '../../src/core/batch-steps.ts';
import { type FoldedEvent, type TurnExplanation, type TurnTimeline, newTimeline } from '../../src/core/index.ts';
import { newTurnHistory } from '../../src/core/explain-turn.ts';
import type { CallCard, ShownContent, TurnAddress, TurnCard, TurnDetail, TurnsWindow, Window } from '../protocol.ts';
import { planOf } from './plan-graph.ts';
import { Refused } from './refused.ts';
import type { StreamFold } from './stream-fold.ts';
import { LINE_CHARS, contentOf, lineOf } from './texts.ts';
import type { TurnEntry } from './turn-index.ts';
import { windowOf } from './windows.ts';

/** The longest text of a card, in UTF-16 units. */
const CARD_CHARS = 4_096;
/** Calls of one card; the turn has them all. */
const CARD_CALLS = 24;

export async function turnsIn(fold: StreamFold, wanted: Window, signal?: AbortSignal): Promise<TurnsWindow> {
  const { from, limit } = windowOf(wanted);
  const entries: TurnEntry[] = [];
  for (let index = from; index < from + limit; index += 1) {
    const entry = fold.turns.at(index);
    if (entry === undefined) break;
    entries.push(entry);
  }
  const turns = (await collect(fold, entries, signal)).map((parts) => cardOf(parts, CARD_CALLS));
  return { from, turns, total: fold.turns.length, checked: fold.progress().folded };
}

export async function turnDetail(fold: StreamFold, { run_id, turn }: TurnAddress): Promise<TurnDetail> {
  const entry = fold.turns.named(run_id, turn);
  const [parts] = entry === undefined ? [] : await collect(fold, [entry]);
  if (parts === undefined) throw unknownTurn(run_id, turn);
  return {
    ...cardOf(parts, Infinity),
    explanation: parts.explanation,
    timelines: parts.timelines,
    plans: parts.batches.flatMap(({ batch }, index) => (batch === null ? [] : [planOf(batch, parts.timelines[index])])),
    offered: parts.offered,
  };
}

const unknownTurn = (run_id: string, turn: number): Refused =>
  new Refused({ code: 'unknown_turn', message: `there is no turn ${turn} of ${run_id}`, advice: '' });

interface Made {
  readonly observed: number;
  readonly calls: ReturnType<typeof callsMade> & {};
  /** The batch as it was last; null for a turn that was refused as a whole. */
  batch: ActiveToolBatch | null;
  readonly refused: { readonly code: string; readonly message: string } | null;
}

interface TurnParts {
  readonly entry: TurnEntry;
  readonly explanation: TurnExplanation;
  readonly timelines: readonly TurnTimeline[];
  readonly batches: readonly Made[];
  readonly inputs: readonly ShownContent[];
  readonly text: ShownContent | null;
  readonly usage: Usage | null;
  readonly began_ms: number;
  readonly over_ms: number | null;
  readonly offered: readonly string[];
}

/** Folds turns that follow each other again, all of them once. */
async function collect(
  fold: StreamFold,
  entries: readonly TurnEntry[],
  signal?: AbortSignal,
): Promise<readonly TurnParts[]> {
  const { folded } = fold.progress();
  const collectors = entries.map((entry) => newCollector(entry, (entry.last ?? folded - 1) + 1));
  const from = Math.min(...entries.map(({ began }) => began));
  const to = Math.max(...collectors.map(({ end }) => end));
  if (collectors.length > 0) {
    await fold.foldAgain(
      from,
      to,
      (event) => {
        for (const collector of collectors) collector.add(event);
      },
      signal,
    );
  }
  return collectors.map((collector) => collector.parts());
}

/** Collects what is shown of one turn, which is over before the event at `end`. */
function newCollector(entry: TurnEntry, end: number) {
  const [history, timeline] = [newTurnHistory(entry.turn), newTimeline()];
  const over: TurnTimeline[] = [];
  const batches: Made[] = [];
  let began: FoldedEvent | null = null;
  let last: FoldedEvent | null = null;
  let answer: { readonly content: Content | undefined; readonly usage: Usage | null } | null = null;
  return {
    end,
    add(folded: FoldedEvent): void {
      if (folded.position < entry.began || folded.position >= end) return;
      began ??= folded;
      last = folded;
      history.add(folded);
      const ended = timeline.add(folded);
      // The event with which the turn begins may end the one before it.
      if (ended !== null && folded !== began) over.push(ended);
      if (folded === began) return;
      advance(batches, folded);
      const { event } = folded;
      if (event.kind === 'ToolCallsObserved') answer = { content: event.content, usage: event.usage ?? null };
    },
    parts(): TurnParts {
      const open = timeline.open();
      const timelines = open === null ? over : [...over, open];
      return partsOf({ began, last, answer }, { entry, batches, timelines }, history);
    },
  };
}

interface Seen {
  readonly began: FoldedEvent | null;
  readonly last: FoldedEvent | null;
  readonly answer: { readonly content: Content | undefined; readonly usage: Usage | null } | null;
}

function partsOf(
  { began, last, answer }: Seen,
  { entry, batches, timelines }: Pick<TurnParts, 'entry' | 'batches' | 'timelines'>,
  history: ReturnType<typeof newTurnHistory>,
): TurnParts {
  const explanation = history.result().find(({ run_id }) => run_id === entry.run_id);
  if (explanation === undefined || began === null || last === null) throw unknownTurn(entry.run_id, entry.turn);
  return {
    entry,
    explanation,
    timelines,
    batches,
    inputs: entriesAdded(began).flatMap(({ role, content, attachments }) =>
      role === 'user' && content !== undefined ? [contentOf(content, attachments, CARD_CHARS)] : [],
    ),
    text: answer?.content === undefined ? null : contentOf(answer.content, [], CARD_CHARS),
    usage: answer?.usage ?? null,
    began_ms: began.event.at_ms,
    over_ms: entry.last === null ? null : last.event.at_ms,
    offered: began.after.run?.offer?.ordered_tools.map(({ tool_name }) => tool_name) ?? [],
  };
}

/** The messages that an event adds to the conversation. */
function entriesAdded({ before, after, sealed }: FoldedEvent): readonly TranscriptEntry[] {
  const count = after.transcript.count - before.transcript.count;
  if (count <= 0) return [];
  const page = sealed === null ? [] : (JSON.parse(sealed.text) as TranscriptPage).entries;
  return [...page, ...after.transcript.open].slice(-count);
}

/** Notes the calls that an event makes, and what it does to those of the open batch. */
function advance(batches: Made[], folded: FoldedEvent): void {
  const open = batches.at(-1);
  if (open !== undefined && folded.before.active_tool_batch?.batch_id === open.batch?.batch_id) {
    open.batch = batchAfter(folded) ?? open.batch;
  }
  const calls = callsMade(folded);
  if (calls === null || calls.calls.length === 0) return;
  const batch = folded.after.active_tool_batch;
  const refused = batch === null ? refusedTurn(folded.after) : null;
  batches.push({ observed: folded.position, calls, batch, refused });
}

function cardOf(parts: TurnParts, callsMax: number): TurnCard {
  const calls = parts.batches.flatMap((made, at) => cardsOf(made, parts.timelines[at]));
  const { entry, explanation, inputs, text, usage, began_ms, over_ms } = parts;
  return {
    run_id: entry.run_id,
    turn: entry.turn,
    index: entry.index,
    first: entry.first,
    last: entry.last ?? Math.max(entry.first, entry.began),
    began_ms,
    over_ms,
    inputs,
    text,
    usage,
    failures: explanation.failures,
    calls: calls.slice(0, callsMax),
    calls_total: calls.length,
    ending: explanation.ending,
  };
}

function cardsOf(made: Made, timeline: TurnTimeline | undefined): readonly CallCard[] {
  const { observed, calls, batch, refused } = made;
  return calls.calls.map((call, index): CallCard => {
    const spans = timeline?.calls[index]?.spans.filter(({ what }) => what === 'run') ?? [];
    const ran = spans.reduce((sum, { from_ms, to_ms }) => sum + (to_ms ?? from_ms) - from_ms, 0);
    return {
      batch_id: batch?.batch_id ?? null,
      call_id: call.call_id,
      observed,
      index,
      tool_name: call.tool_name,
      arguments: lineOf(shownArguments(call), LINE_CHARS),
      ...(batch === null ? refusedCard(refused) : endOf(callStateAt(batch, index))),
      ran_ms: spans.length === 0 ? null : ran,
    };
  });
}

type CallEnd = Pick<CallCard, 'status' | 'code' | 'output'>;

const refusedCard = (refused: Made['refused']): CallEnd => ({
  status: 'rejected',
  code: refused?.code ?? null,
  output: refused === null ? null : contentOf({ text: refused.message }, [], CARD_CHARS),
});

function endOf(state: CallState | undefined): CallEnd {
  if (state === undefined) return refusedCard(null);
  const { status, code, output, attachments } = state;
  return { status, code, output: output === null ? null : contentOf(output, attachments, CARD_CHARS) };
}

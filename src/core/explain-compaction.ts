// Explains the compactions of a conversation while its stream is folded: why each was owed, through which page, which attempts
// failed, what the summary stands for and what it cost. A run owes at most one in a turn, before its generate.
import type { EventOfKind, IngressEvent } from '../../schemas/event.ts';
import type { Digest, RunId } from '../../schemas/ids.ts';
import type { Exchange } from '../../schemas/model-turn.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import type { Compaction, RunState, Usage } from '../../schemas/run.ts';
import { type Moment, momentOf } from './explain-confirmation.ts';
import type { FoldedEvent } from './folded-event.ts';
import { newReplayer } from './replay.ts';

export interface CompactionExplanation {
  readonly run_id: RunId;
  /** The turn whose generate waits for it. */
  readonly turn: number;
  readonly owed: Moment;
  readonly cause: Compaction['cause'];
  /** The mark of the run's config, and the tokens of the last answer, which exceed it when that is the cause. */
  readonly mark: number | null;
  readonly used: number | null;
  /** The last page that the summary stands for, and how many entries of the conversation come before what stays. */
  readonly through: Digest | null;
  readonly entries: number | null;
  readonly failures: readonly CompactionFailure[];
  /** Null when there is no summary. `entries`: those that it stands for; an earlier summary is among them. */
  readonly summary: (Moment & { readonly entries: number } & Answer & { readonly usage: Usage | null }) | null;
  /** The event that ended it before an answer: an interrupt, a cancel, or the end of the run; null when none did. */
  readonly dropped: (Moment & { readonly by: IngressEvent['kind'] }) | null;
}

/** What went over the wire; null when the bridge recorded nothing of it. */
interface Answer {
  readonly exchange: Exchange | null;
}

export interface CompactionFailure extends Moment, Answer {
  readonly code: string;
  readonly message: string;
  /** It is tried again in the same turn. */
  readonly again: boolean;
}

/** Collects the compactions of a session while its stream is folded. */
export interface CompactionHistory {
  add(folded: FoldedEvent): void;
  /** Those so far, in the order in which they became owed. */
  result(): readonly CompactionExplanation[];
}

export function newCompactionHistory(): CompactionHistory {
  const found: CompactionExplanation[] = [];
  return {
    add(folded) {
      const last = found.at(-1);
      if (last !== undefined && isOpen(last)) found[found.length - 1] = advanceCompaction(last, folded);
      const begun = beginCompaction(folded);
      const { run_id, turn } = found.at(-1) ?? {};
      if (begun !== null && (begun.run_id !== run_id || begun.turn !== turn)) found.push(begun);
    },
    result: () => found,
  };
}

/** Explains every compaction in a whole stream. Stops where the stream does not fold as recorded. */
export function explainCompactions(records: Iterable<StreamRecord>): readonly CompactionExplanation[] {
  const history = newCompactionHistory();
  const replayer = newReplayer((folded) => history.add(folded));
  for (const record of records) if (!replayer.add(record)) break;
  return history.result();
}

/** The compaction that is owed after the event; null without one. */
export function beginCompaction(folded: FoldedEvent): CompactionExplanation | null {
  const { run, transcript } = folded.after;
  const compact = run?.compact;
  if (run === null || compact === undefined || compact.answered) return null;
  return {
    run_id: run.run_id,
    turn: run.turn,
    owed: momentOf(folded),
    cause: compact.cause,
    mark: run.config.context?.mark ?? null,
    used: transcript.used ?? null,
    through: compact.through ?? null,
    entries: compact.count ?? null,
    failures: [],
    summary: null,
    dropped: null,
  };
}

/** The compaction after one more event. */
export function advanceCompaction(known: CompactionExplanation, folded: FoldedEvent): CompactionExplanation {
  const { event, after } = folded;
  const moment = momentOf(folded);
  const isOwed = owes(after.run, known);
  if (event.kind === 'CompactFailed') {
    const { code, message, exchange } = event;
    const failure = { ...moment, code, message, again: isOwed, exchange: exchange ?? null };
    return { ...known, failures: [...known.failures, failure] };
  }
  if (event.kind === 'ContextCompacted') return { ...known, summary: { ...moment, ...summaryOf(event, folded) } };
  return isOwed ? known : { ...known, dropped: { ...moment, by: event.kind } };
}

const summaryOf = ({ usage, exchange }: EventOfKind<'ContextCompacted'>, { after }: FoldedEvent) => ({
  entries: after.transcript.summary?.count ?? 0,
  usage: usage ?? null,
  exchange: exchange ?? null,
});

const owes = (run: RunState | null, { run_id, turn }: CompactionExplanation): boolean =>
  run?.run_id === run_id && run.turn === turn && run.compact?.answered === false;

/** Whether an event may still change it. */
export const isOpen = ({ failures, summary, dropped }: CompactionExplanation): boolean =>
  summary === null && dropped === null && failures.at(-1)?.again !== false;

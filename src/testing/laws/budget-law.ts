// Law 7, bounded: a run that has used up its tokens or its time ends as its config says, and starts nothing more. The
// check reads the genesis record and the events only, because a second fold would repeat a fault of the fold.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { RunId } from '../../../schemas/ids.ts';
import type { RunEnding } from '../../../schemas/run.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { StoredSession, FoldedEvent } from './stored-session.ts';
import type { Judge } from './judge.ts';
import { owedEffects } from './owed-effects.ts';

/** What the live run may use, and what it has used. */
interface Spending {
  readonly run_id: RunId;
  readonly tokensMax: number;
  /** When its time ends, in milliseconds since 1970. */
  readonly endMs: number;
  tokens: number;
  /** When it continued after an interrupt; its time may have ended by then. */
  resumedMs: number;
  /** Its time has ended: it only waits for what still runs. */
  late: boolean;
}

export type BudgetLaw = (stored: StoredSession, folded: FoldedEvent) => void;

/** What a scenario guarantees about the clock of the engine. */
export interface EngineTime {
  /** Nothing disturbs the engine, so no deadline is observed late. */
  readonly punctual: boolean;
  /** Its clock is never set, so every event carries the real time. */
  readonly steady: boolean;
}

/** For one session. */
export function newBudgetLaw(judge: Judge, { punctual, steady }: EngineTime): BudgetLaw {
  let live: Spending | null = null;

  function check(run: Spending, folded: FoldedEvent): void {
    const { event, before, state } = folded;
    const isEnding = before.run?.ending !== null;
    if (run.late) checkLate(run, folded);
    else if (!isEnding) checkTime(run, folded);
    if (isEnding && state.run?.ending === null) run.resumedMs = event.at_ms;
    if (event.kind === 'ToolCallsObserved' || event.kind === 'ContextCompacted') checkTokens(run, event, state);
    if (!isLive(run, state)) checkEnding(run, endingOf(state, run.run_id));
  }

  function checkTime(run: Spending, { event, state }: FoldedEvent): void {
    const { run_id, endMs } = run;
    if (event.kind === 'TimeReached' && endMs <= event.due_at_ms) {
      run.late = true;
      judge.check(!steady || event.at_ms >= endMs, 'bounded', () => `${run_id} ended before its time was up`);
      const ends = !isLive(run, state) || state.run?.phase === 'cancelling';
      judge.check(ends, 'bounded', () => `${run_id} continues after its time is up`);
    } else if (punctual) {
      const lateMs = event.at_ms - Math.max(endMs, run.resumedMs);
      judge.check(lateMs <= 0, 'bounded', () => `${run_id} continues ${lateMs} ms after its time is up`);
    }
  }

  /** A run whose time is up starts nothing. */
  function checkLate(run: Spending, { event, state }: FoldedEvent): void {
    const begins = event.kind === 'ToolCallStarted' || event.kind === 'ToolCallsObserved';
    judge.check(!begins, 'bounded', () => `${event.event_id} starts work after the time of its run`);
    if (!isLive(run, state)) return;
    const owed = owedEffects(state).find(({ kind }) => OF_A_RUN.has(kind));
    judge.check(owed === undefined, 'bounded', () => `${owed?.effect_id} is owed after the time of its run`);
  }

  /** An answer that exceeds the tokens is recorded, and its calls are not made. */
  function checkTokens(
    run: Spending,
    event: EventOfKind<'ToolCallsObserved' | 'ContextCompacted'>,
    state: SessionState,
  ) {
    const { usage } = event;
    run.tokens += (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    if (run.tokens <= run.tokensMax) return;
    const outcome = endingOf(state, run.run_id)?.outcome;
    const ended = outcome === 'failed' || (outcome === 'completed' && 'calls' in event && event.calls.length === 0);
    judge.check(ended, 'bounded', () => `${run.run_id} continues after ${run.tokens} tokens`);
  }

  /** The code of its ending matches what it used. */
  function checkEnding({ run_id, late, tokens, tokensMax }: Spending, ending: RunEnding | undefined): void {
    const code = ending?.code ?? null;
    judge.check((code === 'time_exceeded') === late, 'bounded', () => `${run_id} ended with ${code}`);
    const within = code === 'tokens_exceeded' && tokens <= tokensMax;
    judge.check(!within, 'bounded', () => `${run_id} ended with ${code} after ${tokens} tokens`);
  }

  return ({ genesis }, folded) => {
    const { event, before, state } = folded;
    if (live !== null && before.run?.run_id === live.run_id) check(live, folded);
    if (state.run === null || state.run.run_id === live?.run_id) return;
    const { tokens_max, wall_ms_max } = genesis.config;
    live = {
      run_id: state.run.run_id,
      tokensMax: tokens_max ?? Infinity,
      endMs: event.at_ms + (wall_ms_max ?? Infinity),
      tokens: 0,
      resumedMs: 0,
      late: false,
    };
  };
}

/** The work that a run owes. */
const OF_A_RUN: ReadonlySet<string> = new Set(['tool.call', 'llm.generate', 'llm.compact']);

const isLive = ({ run_id }: Spending, { run }: SessionState): boolean => run?.run_id === run_id;

const endingOf = ({ run_history }: SessionState, id: RunId): RunEnding | undefined =>
  run_history.findLast(({ run_id }) => run_id === id)?.ending;

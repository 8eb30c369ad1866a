// A run that has used up its tokens or its time ends as its config says, and begins nothing any more. Held against the
// genesis record and the bare events, because a fault of the fold would be repeated by folding again.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { RunId } from '../../../schemas/ids.ts';
import type { RunEnding } from '../../../schemas/run.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Book, Taken } from './book.ts';
import type { Judge } from './judge.ts';
import { owedEffects } from './owed-effects.ts';

/** What the live run may use, and what is counted of it. */
interface Spending {
  readonly run_id: RunId;
  readonly tokensMax: number;
  /** When its time is up, in milliseconds since 1970. */
  readonly endMs: number;
  tokens: number;
  /** When it went on after it had been interrupted: its time may have been up by then. */
  resumedMs: number;
  /** Its time was up while it went on: it only waits for what runs. */
  late: boolean;
}

export type BudgetLaw = (book: Book, taken: Taken) => void;

/** What can be said of the time of an engine. */
export interface EngineTime {
  /** Nothing befalls it, so that no time that is waited for comes late. */
  readonly punctual: boolean;
  /** Its clock is never set, so that no event says another time than it was. */
  readonly steady: boolean;
}

/** For one session. */
export function newBudgetLaw(judge: Judge, { punctual, steady }: EngineTime): BudgetLaw {
  let live: Spending | null = null;

  function check(run: Spending, taken: Taken): void {
    const { event, before, state } = taken;
    const isEnding = before.run?.ending !== null;
    if (run.late) checkLate(run, taken);
    else if (!isEnding) checkTime(run, taken);
    if (isEnding && state.run?.ending === null) run.resumedMs = event.at_ms;
    if (event.kind === 'ToolCallsObserved') checkTokens(run, event, state);
    if (!goesOn(run, state)) checkEnding(run, endingOf(state, run.run_id));
  }

  function checkTime(run: Spending, { event, state }: Taken): void {
    const { run_id, endMs } = run;
    if (event.kind === 'TimeReached' && endMs <= event.due_at_ms) {
      run.late = true;
      judge.hold(!steady || event.at_ms >= endMs, 'bounded', () => `${run_id} is ended before its time`);
      const ends = !goesOn(run, state) || state.run?.phase === 'cancelling';
      judge.hold(ends, 'bounded', () => `${run_id} goes on after its time`);
    } else if (punctual) {
      const lateMs = event.at_ms - Math.max(endMs, run.resumedMs);
      judge.hold(lateMs <= 0, 'bounded', () => `${run_id} goes on ${lateMs} ms too long`);
    }
  }

  /** Nothing of it is begun any more. */
  function checkLate(run: Spending, { event, state }: Taken): void {
    const begins = event.kind === 'ToolCallStarted' || event.kind === 'ToolCallsObserved';
    judge.hold(!begins, 'bounded', () => `${event.event_id}: begun after the time of its run`);
    if (!goesOn(run, state)) return;
    const owed = owedEffects(state).find(({ kind }) => kind === 'tool.call' || kind === 'llm.generate');
    judge.hold(owed === undefined, 'bounded', () => `${owed?.effect_id} is owed after the time of its run`);
  }

  /** An answer that took more than there was is an answer all the same, and its calls are not made. */
  function checkTokens(run: Spending, { usage, calls }: EventOfKind<'ToolCallsObserved'>, state: SessionState): void {
    run.tokens += (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    if (run.tokens <= run.tokensMax) return;
    const outcome = endingOf(state, run.run_id)?.outcome;
    const ended = outcome === 'failed' || (outcome === 'completed' && calls.length === 0);
    judge.hold(ended, 'bounded', () => `${run.run_id} goes on after ${run.tokens} tokens`);
  }

  /** What it ended with is what it came to. */
  function checkEnding({ run_id, late, tokens, tokensMax }: Spending, ending: RunEnding | undefined): void {
    const code = ending?.code ?? null;
    judge.hold((code === 'time_exceeded') === late, 'bounded', () => `${run_id} ended with ${code}`);
    const within = code === 'tokens_exceeded' && tokens <= tokensMax;
    judge.hold(!within, 'bounded', () => `${run_id} ended with ${code} after ${tokens} tokens`);
  }

  return ({ genesis }, taken) => {
    const { event, before, state } = taken;
    if (live !== null && before.run?.run_id === live.run_id) check(live, taken);
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

const goesOn = ({ run_id }: Spending, { run }: SessionState): boolean => run?.run_id === run_id;

const endingOf = ({ run_history }: SessionState, id: RunId): RunEnding | undefined =>
  run_history.findLast(({ run_id }) => run_id === id)?.ending;

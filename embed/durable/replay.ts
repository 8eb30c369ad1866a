// Finds the recorded turn that answers what a loop asks: by its index, then by its prompt.
import { type Difference, PromptDiffers, RunEnded } from './errors.ts';
import { type PromptDigests, continues, digestsOf, firstDifference } from './prompt-record.ts';
import type { LoggedTurn } from './read-turn.ts';
import type { LoggedRun } from './run-log.ts';
import type { TurnRequest } from './turn.ts';

export interface Position {
  readonly session: string;
  /** How many turns the loop has been given. */
  readonly at: number;
  /** The run has a name: it is the same run for ever. */
  readonly named: boolean;
}

/** The index of the recorded turn; `ask` when the model must be asked; `begin` when a new run must begin first. */
export type Found = number | 'ask' | 'begin';

type Asking = Pick<TurnRequest, 'prompt' | 'input' | 'standsAlone'>;

/** Throws {@link PromptDiffers} when the prompt fits no turn, and {@link RunEnded} when the run is over. */
export function findTurn(run: LoggedRun | null, request: Asking, position: Position): Found {
  if (run === null) return 'begin';
  const { turns, ended } = run;
  const { session, at, named } = position;
  const digests = digestsOf(request.prompt);
  const isSame = ({ prompt }: LoggedTurn): boolean =>
    prompt === null || firstDifference(request.prompt, digests, prompt) === null;
  if (request.standsAlone === true) {
    if (ended !== null && !named) return 'begin';
    const index = turns.findLastIndex(({ prompt }) => prompt !== null && isSame({ prompt } as LoggedTurn));
    return index !== -1 ? index : endedOr(run, position);
  }
  // The loop begins again, as one does after an interruption.
  if (at > 0 && ended === null && turns[0] !== undefined && turns[0].prompt !== null && isSame(turns[0])) return 0;
  const expected = turns[at];
  if (expected === undefined) {
    if (ended !== null && !named) return wasCutShort(run, digests) ? endedOr(run, position) : 'begin';
    // A named run that is over is the same run again, from its first turn.
    if (ended?.outcome === 'completed' && turns[0] !== undefined && isSame(turns[0])) return 0;
    if (turns.length === 0 && ended === null && run.input !== request.input) {
      if (!named) return 'begin';
      throw new PromptDiffers(session, { turn: 1, ...inputOf(request) });
    }
    return endedOr(run, position);
  }
  if (isSame(expected)) return at;
  const later = turns.findIndex((turn, index) => index > at && turn.prompt !== null && isSame(turn));
  if (later !== -1) return later;
  const last = turns.at(-1)?.prompt;
  if (last !== undefined && last !== null && continues(digests, last)) return endedOr(run, position);
  // A run that was ended, and that this loop was given nothing of, is not missed.
  if (ended !== null && !named && at === 0) return 'begin';
  const difference = firstDifference(request.prompt, digests, expected.prompt ?? []);
  throw new PromptDiffers(session, { turn: at + 1, ...(difference as Omit<Difference, 'turn'>) });
}

/** The loop goes on with a run that was ended while it had calls to answer. */
const wasCutShort = ({ turns, ended }: LoggedRun, digests: PromptDigests): boolean => {
  const last = turns.at(-1);
  const hadCalls = last !== undefined && last.observed.length > 0;
  return ended?.outcome !== 'completed' && hadCalls && last.prompt !== null && continues(digests, last.prompt);
};

function endedOr({ ended }: LoggedRun, { session }: Position): 'ask' {
  if (ended !== null) throw new RunEnded(session, ended);
  return 'ask';
}

/** The message that the input of the run is taken from. */
function inputOf({ prompt }: Asking): Omit<Difference, 'turn'> {
  const index = prompt.findLastIndex(({ role }) => role === 'user');
  return { index: Math.max(0, index), role: prompt[index]?.role ?? null, recorded: true };
}

// Finds the recorded turn that answers what a loop asks: by its index, then by its prompt.
import { type Difference, PromptDiffers, RunEnded } from './errors.ts';
import { type PromptDigests, continues, digestsOf, promptDifference } from './prompt-record.ts';
import type { LoggedTurn } from './read-turn.ts';
import type { LoggedRun } from './logged-run.ts';
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

type Asking = Pick<TurnRequest, 'prompt' | 'input' | 'results' | 'standsAlone'>;

/** Throws {@link PromptDiffers} when the prompt fits no turn, and {@link RunEnded} when the run is over. */
export function findTurn(run: LoggedRun | null, request: Asking, position: Position): Found {
  if (run === null) return 'begin';
  const search = { run, request, position, digests: digestsOf(request.prompt) };
  if (request.standsAlone === true) return findAnywhere(search);
  if (beginsAgain(search)) return 0;
  const expected = run.turns[position.at];
  return expected === undefined ? afterLastTurn(search) : fromExpected(search, expected);
}

interface Search {
  readonly run: LoggedRun;
  readonly request: Asking;
  readonly position: Position;
  /** Of the prompt of the request. */
  readonly digests: PromptDigests;
}

/** The turn is on record with exactly this prompt. */
const isKnown = ({ request, digests }: Search, { prompt }: LoggedTurn): boolean =>
  prompt !== null && promptDifference(request.prompt, digests, prompt) === null;

/** The turn may answer this prompt: a turn whose prompt is not on record answers any. */
const fits = (search: Search, turn: LoggedTurn): boolean => turn.prompt === null || isKnown(search, turn);

/** The run is over, and no name holds the loop to it. */
const mayBeginAnew = ({ run, position }: Search): boolean => run.ended !== null && !position.named;

/** The loop keeps its own history, so it may ask for any turn. */
function findAnywhere(search: Search): Found {
  if (mayBeginAnew(search)) return 'begin';
  const index = search.run.turns.findLastIndex((turn) => isKnown(search, turn));
  return index !== -1 ? index : askUnlessEnded(search);
}

/** The loop begins again, as one does after an interruption. */
function beginsAgain(search: Search): boolean {
  const { run, position } = search;
  const [first] = run.turns;
  return position.at > 0 && run.ended === null && first !== undefined && isKnown(search, first);
}

/** The loop has been given every turn on record. */
function afterLastTurn(search: Search): Found {
  const { run, request, position } = search;
  if (mayBeginAnew(search)) return wasCutShort(search) ? askUnlessEnded(search) : 'begin';
  const [first] = run.turns;
  // A named run that is over is the same run again, from its first turn.
  if (run.ended?.outcome === 'completed' && first !== undefined && fits(search, first)) return 0;
  if (run.ended === null && first !== undefined) return withinRun(search);
  if (run.ended !== null || run.input === request.input) return askUnlessEnded(search);
  if (!position.named) return 'begin';
  throw new PromptDiffers(position.session, { turn: 1, ...inputOf(request) });
}

/** The run is not over: what the loop asks is a turn of it again, or goes on from its last one. Any other prompt is none of it. */
function withinRun(search: Search): Found {
  const { run, request, position, digests } = search;
  if (goesOn(search)) return 'ask';
  const again = run.turns.findLastIndex((turn) => isKnown(search, turn));
  if (again !== -1) return again;
  const difference = promptDifference(request.prompt, digests, run.turns.at(-1)?.prompt ?? []);
  throw new PromptDiffers(position.session, {
    turn: run.turns.length + 1,
    ...(difference as Omit<Difference, 'turn'>),
  });
}

/** The record has a turn where the loop is: this one, a later one, or the prompt must continue the last one. */
function fromExpected(search: Search, expected: LoggedTurn): Found {
  const { run, request, position, digests } = search;
  const { at, session } = position;
  if (fits(search, expected)) return at;
  const later = run.turns.findIndex((turn, index) => index > at && isKnown(search, turn));
  if (later !== -1) return later;
  if (goesOn(search)) return askUnlessEnded(search);
  // A run that was ended, and that this loop was given nothing of, is not missed.
  if (mayBeginAnew(search) && at === 0) return 'begin';
  const difference = promptDifference(request.prompt, digests, expected.prompt ?? []);
  throw new PromptDiffers(session, { turn: at + 1, ...(difference as Omit<Difference, 'turn'>) });
}

/**
 * The prompt continues the last one, or has a result of a call of the last turn: a loop may shorten its prompts, and another
 * agent has other instructions. A turn whose prompt is not on record is followed by any.
 */
function goesOn(search: Search): boolean {
  const last = search.run.turns.at(-1);
  if (last === undefined || last.prompt === null || continuesLast(search)) return true;
  return last.recorded.calls.some(({ id }) => search.request.results.has(id));
}

function continuesLast({ run, digests }: Search): boolean {
  const last = run.turns.at(-1)?.prompt ?? null;
  return last !== null && continues(digests, last);
}

/** The loop goes on with a run that was ended while it had calls to answer. */
function wasCutShort(search: Search): boolean {
  const { turns, ended } = search.run;
  const hadCalls = (turns.at(-1)?.observed.length ?? 0) > 0;
  return ended?.outcome !== 'completed' && hadCalls && continuesLast(search);
}

function askUnlessEnded({ run, position }: Search): 'ask' {
  if (run.ended !== null) throw new RunEnded(position.session, run.ended);
  return 'ask';
}

/** The message that the input of the run is taken from. */
function inputOf({ prompt }: Asking): Omit<Difference, 'turn'> {
  const index = prompt.findLastIndex(({ role }) => role === 'user');
  return { index: Math.max(0, index), role: prompt[index]?.role ?? null, recorded: true };
}

// The model of a simulated world: it answers each turn as the scenario says, in any order of runs.
import type { Model, ModelReply, ModelRequest } from './bridge-world.ts';
import type { CallScript, SessionScript } from './scenario.ts';
import { scriptedArguments } from './sim-tools.ts';

/** The answer depends only on run and turn: a repeated request gets the same answer. */
export const simReply = ({ run_id, turn }: ModelRequest, { turns }: SessionScript): ModelReply => {
  const run = Number(run_id.slice('run-'.length));
  // The first run has all turns, each later one a single turn.
  const index = run === 1 ? turn - 1 : turn === 1 ? (run - 1) % turns.length : turns.length;
  const script = turns[index];
  if (script === null) throw new Error('the model does not answer');
  const usage = { input_tokens: 20 * turn, output_tokens: 10 };
  if (script === undefined) return { content: `done with ${run_id}`, calls: [], usage };
  return { content: `turn ${turn}`, usage, calls: script.map((call, at) => callOf(call, `${run}.${turn}.${at}`)) };
};

const callOf = (script: CallScript, id: string): ModelReply['calls'][number] => ({
  id,
  name: script.tool,
  arguments: scriptedArguments(script),
});

/** A model that answers with these turns in each run, then with `done`. A turn of null throws. */
export const scriptedModel = (turns: readonly (ModelReply | null)[]): Model => ({
  generate: async ({ run_id, turn }, signal) => {
    if (signal.aborted) throw new Error('the request was cancelled');
    const reply = turns[turn - 1];
    if (reply === null) throw new Error(`the script has no answer to ${run_id} turn ${turn}`);
    return reply ?? { content: 'done', calls: [] };
  },
});

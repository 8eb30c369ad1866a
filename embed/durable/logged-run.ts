// One run of a session as the record has it: its turns, the results of its calls, and how it ended.
import type { RunEnd, RunId } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { type CallResult, type FoldedEvent, newRunResults } from '../../src/core/index.ts';
import { wholeText } from '../runs/contents.ts';
import { type LoggedTurn, readTurn } from './read-turn.ts';
import type { RecordedCall } from './turn.ts';

/** The run that the loop is in. */
export interface LoggedRun {
  readonly run_id: string;
  readonly input: string;
  readonly turns: readonly LoggedTurn[];
  readonly ended: RunEnd | null;
  /** Every call so far, in call order. */
  readonly calls: () => readonly CallResult[];
}

export interface GrowingRun {
  readonly shown: () => LoggedRun;
  /** Takes the next event of the session, from the one that began the run on. */
  readonly add: (folded: FoldedEvent) => Promise<void>;
}

/** The run that begins with this event; null when none does. */
export const begunRun = ({ before, after }: FoldedEvent): RunId | null =>
  after.run === null || after.run.run_id === before.run?.run_id ? null : after.run.run_id;

export interface GrowingRunOptions {
  readonly client: EngineClient;
  readonly run_id: RunId;
  /** Is told the calls of each turn. */
  readonly onCalls: (calls: readonly RecordedCall[]) => void;
}

/** Throws a RejectedError when the input cannot be read, as `add` does for the texts of a turn. */
export async function newGrowingRun(
  { event: first }: FoldedEvent,
  { client, run_id, onCalls }: GrowingRunOptions,
): Promise<GrowingRun> {
  const input = first.kind === 'RunRequested' ? await wholeText(client, first.input) : '';
  const turns: LoggedTurn[] = [];
  const results = newRunResults(run_id);
  let ended: RunEnd | null = null;
  return {
    shown: () => ({ run_id, input, turns, ended, calls: () => results.result() }),
    async add(folded) {
      const { event } = folded;
      results.add(folded);
      if (event.kind === 'ToolCallsObserved' && event.run_id === run_id) {
        const turn = await readTurn(client, event, turns.at(-1)?.prompt ?? []);
        onCalls(turn.recorded.calls);
        turns.push(turn);
      }
      ended ??= event.ends?.find((end) => end.run_id === run_id) ?? null;
    },
  };
}

// One run of a session as the record has it: its turns, the results of its calls, and how it ended.
import type { RunEnd, RunId } from '../../schemas/index.ts';
import type { EngineClient } from '../../src/client/index.ts';
import { type CallResult, type FoldedEvent, newRunResults } from '../../src/core/index.ts';
import { wholeText } from '../runs/contents.ts';
import { loopIdOf } from './call-ids.ts';
import { type LoggedTurn, readTurn } from './read-turn.ts';
import type { RecordedCall } from './turn.ts';

/** The run that the loop is in. */
export interface LoggedRun {
  readonly run_id: string;
  readonly input: string;
  readonly turns: readonly LoggedTurn[];
  readonly ended: RunEnd | null;
  /** Every call so far, in call order; those that a person gave in place of others, too. */
  readonly calls: () => readonly CallResult[];
  /** The call as it is by now. */
  readonly call: (made: CallAddress) => CallResult | undefined;
  /** The calls that a loop knows by this id, in call order. */
  readonly named: (id: string) => readonly CallResult[];
  /** The call with other arguments that a person allowed instead of this one; it runs in the next batch. Null for all others. */
  readonly replacement: (made: CallAddress) => CallAddress | null;
}

/** What names a call in its run. */
export interface CallAddress {
  readonly call: { readonly call_id: string };
  readonly turn: number;
}

export const callKey = ({ call, turn }: CallAddress): string => `${turn} ${call.call_id}`;

export interface GrowingRun {
  readonly shown: () => LoggedRun;
  /** Takes the next event of the session, from the one that began the run on. Resolves with the calls that it has changed. */
  readonly add: (folded: FoldedEvent) => Promise<readonly CallResult[]>;
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
  const calls = newCallIndex();
  let ended: RunEnd | null = null;
  return {
    shown: () => ({ run_id, input, turns, ended, calls: () => results.result(), ...calls.shown }),
    async add(folded) {
      const { event } = folded;
      const changed = results.add(folded);
      for (const result of changed) calls.add(result);
      calls.replace(folded);
      if (event.kind === 'ToolCallsObserved' && event.run_id === run_id) {
        const turn = await readTurn(client, event, turns.at(-1)?.prompt ?? []);
        onCalls(turn.recorded.calls);
        turns.push(turn);
      }
      ended ??= event.ends?.find((end) => end.run_id === run_id) ?? null;
      return changed;
    },
  };
}

/** The calls of a run by what names them, so that a look at one costs the same in a turn of any size. */
function newCallIndex() {
  const known = new Map<string, CallResult>();
  const names = new Map<string, Set<string>>();
  const replacements = new Map<string, CallAddress>();
  return {
    shown: {
      call: (made: CallAddress) => known.get(callKey(made)),
      named: (id: string) => [...(names.get(id) ?? [])].flatMap((key) => known.get(key) ?? []),
      replacement: (made: CallAddress) => replacements.get(callKey(made)) ?? null,
    },
    add(result: CallResult): void {
      const key = callKey(result);
      const before = known.get(key);
      // Of two calls with the same id in one turn, the first.
      if (before !== undefined && before.call !== result.call) return;
      known.set(key, result);
      const id = loopIdOf(result.call);
      names.set(id, (names.get(id) ?? new Set()).add(key));
    },
    replace({ event, before }: FoldedEvent): void {
      if (event.kind !== 'user.tool_confirmation' || event.instead === undefined) return;
      const turn = before.active_tool_batch?.turn;
      if (turn !== undefined) replacements.set(callKey({ call: event, turn }), { call: event.instead, turn });
    },
  };
}

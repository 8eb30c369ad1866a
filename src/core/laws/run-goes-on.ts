// A live run goes on (docs/design.md, law 19): it owes something, waits for a time or a person, or waits for calls that run. Of
// the phases, two can hold a run for ever: one that is ending waits for running calls alone, and one that executes needs its
// batch. And a call that runs is ended by its report, its lease or the interrupt that leaves it to itself, by nothing else.
import { isTerminal } from '../../../reducers/call-status.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import { statusAfter } from './results.ts';

export function checkGoesOn(judged: LawCase): readonly LawBreach[] {
  return [...checkHeld(judged), ...checkEndedRunning(judged)];
}

/** A run that nothing can bring to its next phase. */
function checkHeld(judged: LawCase): readonly LawBreach[] {
  const { folded, reading } = judged;
  const { run, active_tool_batch: batch } = folded.after;
  const waits = run === null ? undefined : WAITS[run.phase];
  if (run === null || waits === undefined) return [];
  const held = (message: string): readonly LawBreach[] => [
    breachOf('run_goes_on', judged, {
      against: reading.open?.openedAt ?? -1,
      message: `${run.run_id} is ${run.phase}, ${message}`,
    }),
  ];
  if (batch === null) return held('but has no open batch');
  if (waits === 'batch' || runsAfter(judged)) return [];
  return held('but none of its calls runs, so that nothing ends it');
}

/** What a run in a phase waits for; in every other phase it owes something, or waits for a time or a person. */
const WAITS: Readonly<Partial<Record<string, 'batch' | 'running calls'>>> = {
  executing: 'batch',
  paused_executing: 'batch',
  interrupting: 'running calls',
  cancelling: 'running calls',
};

const runsAfter = ({ reading, results }: LawCase): boolean =>
  reading.open?.calls.some((call) => call.running && !results.has(call)) === true;

/** A running call that is over after an event that says nothing about it. */
function checkEndedRunning(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, results } = judged;
  const { event, after } = folded;
  const { open } = reading;
  if (open === null || after.active_tool_batch?.batch_id !== open.batch_id) return [];
  if (event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') return [];
  return open.calls.flatMap((call) => {
    if (!call.running || call.startedAt === null || results.has(call)) return [];
    const status = statusAfter(folded, call);
    if (status === undefined || !isTerminal(status)) return [];
    const message = `${event.kind} ends "${call.call_id}" as ${status}, but the call runs`;
    return [breachOf('run_goes_on', judged, { against: call.startedAt, call, message })];
  });
}

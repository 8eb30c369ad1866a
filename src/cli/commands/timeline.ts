// `refold timeline`: when what happened in the turns of a session, as a picture.
import pc from 'picocolors';
import type { SessionId } from '../../../schemas/ids.ts';
import { type TurnTimeline, newTimeline } from '../../core/timeline.ts';
import { CommandFailure, type Output } from '../output.ts';
import { LEGEND, inWords, turnLines } from '../timeline-lines.ts';
import { type Source, foldSource, withSources } from './audit-source.ts';

export interface TimelineCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  /** This turn only, of every run; all of them when absent. */
  readonly turn?: number;
  readonly dataDir: string;
}

/** Where nobody says how wide their terminal is. */
const COLUMNS_DEFAULT = 110;

export function timelineCommand(command: TimelineCommand, output: Output): Promise<number> {
  return withSources([command.source], command.dataDir, async ([source]) => {
    await printTimeline(source as Source, command.turn, output);
    return 0;
  });
}

async function printTimeline(source: Source, only: number | undefined, output: Output): Promise<void> {
  const timeline = newTimeline();
  const columns = process.stdout.columns ?? COLUMNS_DEFAULT;
  const total = { turns: 0, calls: 0, modelMs: 0, callsMs: 0 };
  let now = 0;

  function take(session_id: SessionId, turn: TurnTimeline): void {
    if (only !== undefined && turn.turn !== only) return;
    if (total.turns === 0) output.line(pc.dim(LEGEND));
    total.turns += 1;
    total.calls += turn.calls.length;
    total.modelMs += turn.observed_ms - (turn.asked_ms ?? turn.observed_ms);
    total.callsMs += (turn.over_ms ?? now) - turn.observed_ms;
    output.object(asObject(session_id, turn));
    for (const line of turnLines(turn, now, columns)) output.line(line);
  }

  const { state, events } = await foldSource(source, undefined, (record, before, after) => {
    now = record.event.at_ms;
    const over = timeline.add(record, before, after);
    if (over !== null) take(after.session_id, over);
  });
  const open = timeline.open();
  if (open !== null) take(state.session_id, open);
  if (only !== undefined && total.turns === 0) {
    throw new CommandFailure(
      'unknown_turn',
      `${source.name} has no turn ${only} in ${events} events. See: refold events`,
    );
  }
  const { turns, calls, modelMs, callsMs } = total;
  output.line(
    `${pc.bold(state.session_id)}  ${turns} turns, ${calls} calls; model ${inWords(modelMs)}, calls ${inWords(callsMs)}`,
  );
}

/** What programs get: a call by its id and tool, without its arguments. */
function asObject(session_id: SessionId, { calls, ...turn }: TurnTimeline): object {
  return {
    session_id,
    ...turn,
    calls: calls.map(({ call: { call_id, tool_name }, ...rest }) => ({ call_id, tool_name, ...rest })),
  };
}

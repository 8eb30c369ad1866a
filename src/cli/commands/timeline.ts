// `refold timeline`: the turns of a session as a picture of what happened when.
import { paint } from '../../shown/paint.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { type TurnTimeline, newTimeline } from '../../core/timeline.ts';
import { CommandFailure, type Output } from '../output.ts';
import { type Source, foldSource, sourceTitle, withSources } from '../audit/source.ts';
import { LEGEND, formatDuration, timelineLines } from '../audit/timeline-lines.ts';

export interface TimelineCommand {
  /** A session id, or the path of an exported stream. */
  readonly source: string;
  /** Only this turn of every run; all turns when absent. */
  readonly turn?: number;
  readonly dataDir: string;
}

/** The width when the output is not a terminal. */
const COLUMNS_DEFAULT = 110;

export function timelineCommand(command: TimelineCommand, output: Output): Promise<number> {
  return withSources([command.source], { dataDir: command.dataDir, output }, async ([source]) => {
    await printTimeline(source as Source, command.turn, output);
    return 0;
  });
}

async function printTimeline(source: Source, only: number | undefined, output: Output): Promise<void> {
  const timeline = newTimeline();
  const columns = output.stdout.columns ?? COLUMNS_DEFAULT;
  const total = { turns: 0, calls: 0, modelMs: 0, callsMs: 0 };
  let now = 0;

  function print(session_id: SessionId, turn: TurnTimeline): void {
    if (only !== undefined && turn.turn !== only) return;
    if (total.turns === 0) output.line(paint.dim(LEGEND));
    total.turns += 1;
    total.calls += turn.calls.length;
    total.modelMs += turn.observed_ms - (turn.asked_ms ?? turn.observed_ms);
    total.callsMs += (turn.over_ms ?? now) - turn.observed_ms;
    output.object(asObject(session_id, turn));
    for (const line of timelineLines(turn, now, columns)) output.line(line);
  }

  const { state, events } = await foldSource(source, undefined, (folded) => {
    now = folded.event.at_ms;
    const over = timeline.add(folded);
    if (over !== null) print(folded.after.session_id, over);
  });
  const open = timeline.open();
  if (open !== null) print(state.session_id, open);
  if (only !== undefined && total.turns === 0) {
    throw new CommandFailure(
      'unknown_turn',
      `${source.name} has no turn ${only} in its ${events} events. List the events: refold events`,
    );
  }
  const { turns, calls, modelMs, callsMs } = total;
  output.line(
    `${paint.bold(sourceTitle(source, state.session_id))}  ${turns} ${turns === 1 ? 'turn' : 'turns'}, ${calls} ${calls === 1 ? 'call' : 'calls'}; ` +
      `model ${formatDuration(modelMs)}, calls ${formatDuration(callsMs)}`,
  );
}

/** The object for programs: calls by id and tool, without arguments. */
function asObject(session_id: SessionId, { calls, ...turn }: TurnTimeline): object {
  return {
    session_id,
    ...turn,
    calls: calls.map(({ call: { call_id, tool_name }, ...rest }) => ({ call_id, tool_name, ...rest })),
  };
}

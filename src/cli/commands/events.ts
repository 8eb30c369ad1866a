// `refold events`: the recorded events of a session, one line each.
import pc from 'picocolors';
import type { SessionId } from '../../../schemas/ids.ts';
import { type StreamEvent, eventsIn } from '../../../schemas/record.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import type { EngineClient } from '../../client/client.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import type { Output } from '../output.ts';
import { readSession } from '../stream-file.ts';
import { untilStopped } from '../until-stopped.ts';

export interface EventsCommand {
  readonly dataDir: string;
  readonly id: SessionId;
  readonly follow: boolean;
  /** Shows what the model writes, too. */
  readonly deltas: boolean;
  readonly from: number;
}

export function eventsCommand({ dataDir, id, follow, deltas, from }: EventsCommand, output: Output): Promise<number> {
  return withEngine(dataDir, async (client) => {
    if (follow) await followEvents(client, { id, from, deltas }, output);
    else {
      for await (const record of readSession(client, id, from)) {
        if (record.kind !== 'commit') continue;
        for (const recorded of eventsIn(record)) if (recorded.position >= from) printEvent(recorded, output);
      }
    }
    return 0;
  });
}

async function followEvents(
  client: EngineClient,
  { id, from, deltas }: Pick<EventsCommand, 'id' | 'from' | 'deltas'>,
  output: Output,
): Promise<void> {
  await must(client.session(id));
  const stopped = new AbortController();
  void untilStopped(false).then(() => stopped.abort());
  const options = { from, signal: stopped.signal };
  for await (const item of deltas ? client.followLive(id, options) : client.followCommits(id, options)) {
    if (item.kind === 'delta') printDelta(item, output);
    else for (const recorded of eventsIn(item)) if (recorded.position >= from) printEvent(recorded, output);
  }
}

function printDelta(frame: DeltaFrame, output: Output): void {
  output.object({ delta: frame });
  const turn = `      ~  ${frame.run_id} turn ${frame.turn}`;
  if (frame.retract === true) output.line(pc.dim(`${turn} begins again: its attempt failed`));
  for (const { kind, text } of frame.parts) output.line(pc.dim(`${turn} ${kind}: ${text}`));
}

function printEvent({ position, event }: StreamEvent, output: Output): void {
  const { kind, at_ms, v: _version, event_id: _id, ...rest } = event;
  const body = JSON.stringify(rest);
  output.object({ position, event });
  output.line(
    `${String(position).padStart(5)}  ${new Date(at_ms).toISOString()}  ${pc.bold(kind)}  ${pc.dim(body.length > 160 ? `${body.slice(0, 159).toWellFormed()}…` : body)}`,
  );
}

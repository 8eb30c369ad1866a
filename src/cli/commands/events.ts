// `refold events`: the recorded events of a session, one line each.
import pc from 'picocolors';
import type { SessionId } from '../../../schemas/ids.ts';
import { type StreamEvent, eventsIn } from '../../../schemas/record.ts';
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
  readonly from: number;
}

export function eventsCommand({ dataDir, id, follow, from }: EventsCommand, output: Output): Promise<number> {
  return withEngine(dataDir, async (client) => {
    if (follow) await followEvents(client, { id, from }, output);
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
  { id, from }: { readonly id: SessionId; readonly from: number },
  output: Output,
): Promise<void> {
  await must(client.session(id));
  const stopped = new AbortController();
  void untilStopped(false).then(() => stopped.abort());
  const events = client.follow(id, { from, signal: stopped.signal });
  for await (const record of events) printEvent(record, output);
}

function printEvent({ position, event }: StreamEvent, output: Output): void {
  const { kind, at_ms, v: _version, event_id: _id, ...rest } = event;
  const body = JSON.stringify(rest);
  output.object({ position, event });
  output.line(
    `${String(position).padStart(5)}  ${new Date(at_ms).toISOString()}  ${pc.bold(kind)}  ${pc.dim(body.length > 160 ? `${body.slice(0, 159).toWellFormed()}…` : body)}`,
  );
}

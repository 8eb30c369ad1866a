// `refold events`: the recorded events of a session, one line each.
import { paint } from '../../shown/paint.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { type CommitRecord, type StreamEvent, eventsIn } from '../../../schemas/record.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import { requireData } from '../data-dir.ts';
import { findEngine } from '../engine-address.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { readSession } from '../stream-file.ts';
import { visible } from '../../shown/visible.ts';
import { untilStopped } from '../until-stopped.ts';

export interface EventsCommand {
  readonly dataDir: string;
  readonly id: SessionId;
  readonly follow: boolean;
  /** Shows what the model writes, too. */
  readonly deltas: boolean;
  readonly from: number;
}

export async function eventsCommand(
  { dataDir, id, follow, deltas, from }: EventsCommand,
  output: Output,
): Promise<number> {
  if (follow) return await followEvents(dataDir, { id, from, deltas }, output);
  return await withEngine(dataDir, async (client) => {
    for await (const record of readSession(client, id, from)) {
      if (record.kind === 'commit') printCommit(record, from, output);
    }
    return 0;
  });
}

/** Follows until the command is stopped. Without a running engine nothing is appended that could be followed. */
async function followEvents(
  dataDir: string,
  { id, from, deltas }: Pick<EventsCommand, 'id' | 'from' | 'deltas'>,
  output: Output,
): Promise<number> {
  await requireData(dataDir);
  const engine = await findEngine(dataDir);
  if (engine === null) {
    const next = `To start one: refold serve --data-dir ${dataDir}. To read what is recorded, leave out --follow.`;
    throw new CommandFailure('no_engine', `no engine answers for ${dataDir}, so there is nothing to follow. ${next}`);
  }
  try {
    await must(engine.client.session(id));
    const stopped = new AbortController();
    void untilStopped(false).then(() => stopped.abort());
    const { client } = engine;
    const options = { from, signal: stopped.signal };
    for await (const item of deltas ? client.followLive(id, options) : client.followCommits(id, options)) {
      if (item.kind === 'delta') printDelta(item, output);
      else printCommit(item, from, output);
    }
    return 0;
  } finally {
    await engine.client.close();
  }
}

function printCommit(commit: CommitRecord, from: number, output: Output): void {
  for (const recorded of eventsIn(commit)) if (recorded.position >= from) printEvent(recorded, output);
}

function printEvent({ position, event }: StreamEvent, output: Output): void {
  const { kind, at_ms, v: _version, event_id: _id, ...rest } = event;
  const body = JSON.stringify(rest);
  output.object({ position, event });
  output.line(
    `${String(position).padStart(5)}  ${new Date(at_ms).toISOString()}  ${paint.bold(kind)}  ${paint.dim(body.length > 160 ? `${body.slice(0, 159).toWellFormed()}…` : body)}`,
  );
}

function printDelta(frame: DeltaFrame, output: Output): void {
  output.object({ delta: frame });
  for (const line of deltaLines(frame)) output.line(paint.dim(line));
}

/** One line for each part: a line end in what a model writes would begin one that looks like an event. */
export function deltaLines({ run_id, turn, parts, retract }: DeltaFrame): readonly string[] {
  const head = `      ~  ${run_id} turn ${turn}`;
  const again = retract === true ? [`${head} begins again: its attempt failed`] : [];
  return [...again, ...parts.map(({ kind, text }) => `${head} ${kind}: ${visible(text)}`)];
}

// One round of measured turns: new sessions, each with one run of the given number of turns, on any client.
import { CONSENT_PRESETS } from '../src/toolsets/consent-presets.ts';
import { brand } from '../schemas/ids.ts';
import type { EngineClient } from '../src/client/client.ts';
import { modelOf } from './actors.ts';
import { must } from '../src/client/must.ts';
import type { Stopwatch } from './stopwatch.ts';
import { UNBOUNDED } from './stream.ts';
import { benchPackage } from './tools.ts';

export interface Round {
  readonly sessions: number;
  readonly turns: number;
}

/** Returns the turns per second over all sessions. */
export async function runRound(
  client: EngineClient,
  stopwatch: Stopwatch,
  { sessions, turns }: Round,
): Promise<number> {
  const config = { ...UNBOUNDED, model: modelOf(turns) };
  const tool_package = benchPackage();
  const made = await Promise.all(
    Array.from({ length: sessions }, () =>
      must(client.createSession({ config, tool_package, consent: CONSENT_PRESETS.allow_all })),
    ),
  );
  const elapsed = stopwatch.time(sessions);
  const events = [{ kind: 'RunRequested', event_id: brand<'EventId'>('go'), input: { text: 'go on' } }] as const;
  await Promise.all(made.map(({ session_id }) => must(client.submit(session_id, { events }))));
  return (sessions * turns * 1_000) / (await elapsed);
}

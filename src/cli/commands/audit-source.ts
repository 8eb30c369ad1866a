// What the audit commands read: sessions of a data directory, exported files, or both side by side.
import { existsSync } from 'node:fs';
import type { SessionId } from '../../../schemas/ids.ts';
import type { EventRecord, StreamRecord } from '../../../schemas/record.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { EngineClient } from '../../client/client.ts';
import { type Divergence, type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { CommandFailure } from '../output.ts';
import { readSession, readStreamFile } from '../stream-file.ts';
import { sessionIdOf } from './replay.ts';

export interface Source {
  /** As it was named on the command line. */
  readonly name: string;
  /** The engine that has the session, and its blobs; null for a file. */
  readonly client: EngineClient | null;
  records(): AsyncGenerator<StreamRecord>;
}

/** Works with sources by name: a file where there is one, else a session. An engine is opened only for sessions. */
export async function withSources<T>(
  names: readonly string[],
  dataDir: string,
  work: (sources: readonly Source[]) => Promise<T>,
): Promise<T> {
  const named = names.map((name): Source | SessionId => (existsSync(name) ? fileSource(name) : sessionIdOf(name)));
  if (named.every((source) => typeof source !== 'string')) return await work(named);
  return await withEngine(dataDir, (client) =>
    work(named.map((source) => (typeof source === 'string' ? sessionSource(client, source) : source))),
  );
}

const fileSource = (path: string): Source => ({ name: path, client: null, records: () => readStreamFile(path) });

export const sessionSource = (client: EngineClient, id: SessionId): Source => ({
  name: id,
  client,
  records: () => readSession(client, id),
});

export interface FoldedStream {
  /** After the events that were asked for. */
  readonly state: SessionState;
  /** How many those are. */
  readonly events: number;
}

/** Folds a source up to `version` events, all of them by default. Ends the command where it does not verify. */
export async function foldSource(
  source: Source,
  version: number | undefined,
  onEvent: (record: EventRecord, before: SessionState, after: SessionState) => void,
): Promise<FoldedStream> {
  const replayer = newReplayer();
  let before: SessionState | null = null;
  for await (const record of source.records()) {
    if (before !== null && before.version === version) break;
    if (!addRecord(replayer, record, source.name)) break;
    const { state: after } = replayer.result();
    if (record.kind === 'event' && before !== null && after !== null) onEvent(record, before, after);
    before = after;
  }
  const { state, events, divergence } = replayer.result();
  if (divergence !== null || state === null) throw doesNotFold(source.name, divergence);
  if (version !== undefined && events < version) {
    throw new CommandFailure(
      'invalid_shape',
      `${source.name} has ${events} events, so there is no state at ${version}`,
    );
  }
  return { state, events };
}

/** Folds one more record. One that was tampered with may be one that no admission ever saw: that ends the command. */
export function addRecord(replayer: Replayer, record: StreamRecord, name: string): boolean {
  try {
    return replayer.add(record);
  } catch (error) {
    const { events } = replayer.result();
    const message = error instanceof InvariantError ? `: ${error.message}` : '';
    throw doesNotFold(name, { position: events, what: 'event', message: `the event cannot be folded${message}` });
  }
}

export function doesNotFold(name: string, divergence: Divergence | null): CommandFailure {
  const where = divergence === null ? '' : `, position ${divergence.position}: ${divergence.message}`;
  const message = `${name} does not fold as it was recorded${where}. Look closer: refold verify ${name}`;
  return new CommandFailure('divergence', message, 1);
}

/** JSON text of a value, short enough for a line. */
export function clipJson(value: unknown, width: number): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= width ? text : `${text.slice(0, width - 1).toWellFormed()}…`;
}

// The streams that audit commands read: sessions of a data directory, exported files, or both.
import { existsSync } from 'node:fs';
import { isRight } from 'fp-ts/lib/Either.js';
import { decode } from '../../../schemas/codec.ts';
import { SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { EngineClient } from '../../client/client.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { type Divergence, type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { CommandFailure } from '../output.ts';
import { readSession, readStreamFile } from '../stream-file.ts';

export interface Source {
  /** The name given on the command line. */
  readonly name: string;
  /** The engine that has the session and its blobs; null for a file. */
  readonly client: EngineClient | null;
  records(): AsyncGenerator<StreamRecord>;
}

/** Passes `work` the named sources: a file where one exists, else a session. An engine is opened only for sessions. */
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

/** A session id that names no file; anything else ends the command. */
export function sessionIdOf(text: string): SessionId {
  const id = decode(SessionId, text);
  if (isRight(id)) return id.right;
  throw new CommandFailure(
    'invalid_shape',
    `"${text}" is neither a file nor a session id. List the sessions: refold sessions`,
  );
}

const fileSource = (path: string): Source => ({ name: path, client: null, records: () => readStreamFile(path) });

export const sessionSource = (client: EngineClient, id: SessionId): Source => ({
  name: id,
  client,
  records: () => readSession(client, id),
});

export interface FoldedStream {
  /** The state after the requested events. */
  readonly state: SessionState;
  /** The number of these events. */
  readonly events: number;
}

/**
 * Folds the first `version` events of a source, all by default. Ends the command where the source does not verify up to the
 * end of the commit with the last of them.
 */
export async function foldSource(
  source: Source,
  version: number | undefined,
  onEvent: (folded: FoldedEvent) => void,
): Promise<FoldedStream> {
  let state: SessionState | null = null;
  const replayer = newReplayer((folded) => {
    if (version !== undefined && folded.position >= version) return;
    onEvent(folded);
    state = folded.after;
  });
  for await (const record of source.records()) {
    if (!addRecord(replayer, record, source.name)) break;
    const folded = replayer.result();
    state ??= folded.state;
    if (folded.state !== null && folded.events >= (version ?? Infinity)) break;
  }
  const { events, divergence } = replayer.result();
  if (divergence !== null || state === null) throw doesNotFold(source.name, divergence);
  if (version !== undefined && events < version) {
    throw new CommandFailure(
      'invalid_shape',
      `${source.name} has only ${events} events, so it has no state after ${version}`,
    );
  }
  return { state, events: version ?? events };
}

/** Folds one more record. A tampered record may hold an event that admission would refuse; it ends the command. */
export function addRecord(replayer: Replayer, record: StreamRecord, name: string): boolean {
  try {
    return replayer.add(record);
  } catch (error) {
    const { events } = replayer.result();
    throw doesNotFold(name, {
      position: events,
      commit: events,
      what: 'event',
      message: `the event cannot be folded${whyNotFolded(error)}`,
    });
  }
}

/** Why folding threw. An error that is no broken invariant may be a fault of refold itself, and is never hidden. */
export function whyNotFolded(error: unknown): string {
  if (error instanceof InvariantError) return `: ${error.message}`;
  return ` (${String(error)}: if the record was not changed, this is a fault of refold; please report it)`;
}

export function doesNotFold(name: string, divergence: Divergence | null): CommandFailure {
  const where = divergence === null ? '' : `, position ${divergence.position}: ${divergence.message}`;
  const message = `${name} does not fold as recorded${where}. For details: refold verify ${name}`;
  return new CommandFailure('divergence', message, 1);
}

// The streams that audit commands read: sessions of a data directory, exported files, or both.
import type { SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { InvariantError, invariant } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { EngineClient } from '../../client/client.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { type Divergence, type Replayer, newReplayer } from '../../core/replay.ts';
import { withEngine } from '../with-engine.ts';
import { CommandFailure, type Output } from '../output.ts';
import { type SourceName, sourceNameOf } from '../source-name.ts';
import { readSession, readStreamFile } from '../stream-file.ts';

export interface Source {
  readonly kind: 'session' | 'file';
  /** The id of the session, or the path of the file. */
  readonly name: string;
  /** The engine that has the session and its blobs; null for a file. */
  readonly client: EngineClient | null;
  records(): AsyncGenerator<StreamRecord>;
}

/** Passes `work` the named sources. An engine is opened only for sessions. */
export async function withSources<T>(
  names: readonly string[],
  { dataDir, output }: { readonly dataDir: string; readonly output: Output },
  work: (sources: readonly Source[]) => Promise<T>,
): Promise<T> {
  const named = names.map((name) => sourceNameOf(name, output));
  const open = (client: EngineClient | null): readonly Source[] =>
    named.map((source) =>
      source.kind === 'file' || client === null ? fileSource(source) : sessionSource(client, source.id),
    );
  if (named.every(({ kind }) => kind === 'file')) return await work(open(null));
  return await withEngine(dataDir, (client) => work(open(client)));
}

const NO_FILE = 'no such file; for a session, give its id: refold sessions lists them';

function fileSource(source: SourceName): Source {
  invariant(source.kind === 'file', 'a session is read with an engine');
  return { kind: 'file', name: source.path, client: null, records: () => readStreamFile(source.path, NO_FILE) };
}

export const sessionSource = (client: EngineClient, id: SessionId): Source => ({
  kind: 'session',
  name: id,
  client,
  records: () => readSession(client, id),
});

/** What was read, for the first line of an answer: a file may hold any session. */
export const sourceTitle = ({ kind, name }: Pick<Source, 'kind' | 'name'>, session: string | null): string =>
  kind === 'session' ? `session ${name}` : `file ${name}, ${session === null ? 'no session' : `session ${session}`}`;

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
    if (!addRecord(replayer, record, source)) break;
    const folded = replayer.result();
    state ??= folded.state;
    if (folded.state !== null && folded.events >= (version ?? Infinity)) break;
  }
  const { events, divergence } = replayer.result();
  if (divergence !== null || state === null) throw doesNotFold(source, divergence);
  if (version !== undefined && events < version) {
    throw new CommandFailure(
      'invalid_shape',
      `${source.kind} ${source.name} has only ${events} events, so it has no state after ${version}`,
    );
  }
  return { state, events: version ?? events };
}

/** Folds one more record. A tampered record may hold an event that admission would refuse; it ends the command. */
export function addRecord(replayer: Replayer, record: StreamRecord, source: Pick<Source, 'kind' | 'name'>): boolean {
  try {
    return replayer.add(record);
  } catch (error) {
    const { events } = replayer.result();
    throw doesNotFold(source, {
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

export function doesNotFold(
  { kind, name }: Pick<Source, 'kind' | 'name'>,
  divergence: Divergence | null,
): CommandFailure {
  const where = divergence === null ? '' : `, position ${divergence.position}: ${divergence.message}`;
  const message = `${kind} ${name} does not fold as recorded${where}. For details: refold verify ${kind}:${name}`;
  return new CommandFailure('divergence', message, 1);
}

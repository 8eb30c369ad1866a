// A session as the events of a client stream (`src/core/stream/`): those of the record, folded here, and between them what the
// model writes.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { CommitRecord } from '../../../schemas/record.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { StreamedEvent } from '../../core/stream/client-event.ts';
import { clientEvents } from '../../core/stream/client-events.ts';
import { type LiveText, newLiveText } from '../../core/stream/live-text.ts';
import { type StreamPlace, placeAfter } from '../../core/stream/stream-place.ts';
import type { ReplayStart } from '../../core/replay.ts';
import type { EngineClient } from '../client.ts';
import { must } from '../must.ts';
import { RejectedError } from '../rejected-error.ts';
import { type FoldedTo, type GiveWay, givingWay, newCheckedFold } from './checked-fold.ts';

export type { StreamedEvent };

type StreamClient = Pick<EngineClient, 'session' | 'records' | 'followLive' | 'storedStart'>;

export interface StreamOptions {
  /** The last id that was seen; from the beginning without it. */
  readonly after?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** A commit as a stream says it: the events of each of its positions, and what comes after it. */
export interface StreamedCommit {
  readonly positions: readonly (readonly StreamedEvent[])[];
  readonly head: ReplayStart;
}

/** Events that a reader gets together: those of a commit, or of a frame of what is written. */
export interface StreamedBatch {
  readonly events: readonly StreamedEvent[];
  /** The commit of which these are all events, unchanged: whoever writes them for one reader has written them for each. */
  readonly whole?: StreamedCommit;
}

/** A commit that is made into events, or was. */
export type MadeCommit = StreamedCommit | Promise<StreamedCommit>;

/** Commits that were made into events before, by their chain value, which stands for all of a stream up to them. */
export interface KnownCommits {
  get(chain: Digest): MadeCommit | undefined;
  set(chain: Digest, commit: MadeCommit): void;
}

/** Where a stream begins. */
export interface StreamStart {
  readonly session: SessionId;
  readonly head: ReplayStart;
  readonly place: StreamPlace;
}

/**
 * The events of a session after an id, then each new one, until aborted: `id` of {@link StreamOptions.after} names the last
 * that was seen. What the model writes comes as `text_delta` and `thinking_delta` without an id; once its turn is recorded the
 * rest of the text follows.
 *
 * Throws a {@link RejectedError} when the session is not readable or has no such id yet, a `FollowRefused` when the engine
 * refuses later, and a `StreamDiverged` when the stream does not fold as recorded.
 */
export async function* sessionStream(
  client: EngineClient,
  session: SessionId,
  { after, signal }: StreamOptions = {},
): AsyncGenerator<StreamedEvent, void> {
  const start = await beginStream(client, session, after);
  for await (const { events } of streamFrom(client, start, withSignal(signal))) yield* events;
}

/** Throws a {@link RejectedError} when the session is not readable or has no such id yet. */
export async function beginStream(client: StreamClient, session: SessionId, after?: string): Promise<StreamStart> {
  const place = placeAfter(after);
  if (isLeft(place)) throw new RejectedError(place.left);
  const { state, chain } = await must(client.session(session));
  const { position, skip } = place.right;
  if (position > state.version || (position === state.version && skip > 0)) {
    const message = `${session} has ${state.version} events, so none of them has the id ${after}`;
    throw new RejectedError(reject('position_unknown', '/last-event-id', message));
  }
  // Whoever has seen all begins with the state as it is; everyone else's stream is folded from a state before its place.
  const head = position === state.version ? { state, chain } : await startBefore(client, session, position);
  return { session, head, place: place.right };
}

interface StreamFrom {
  /** Shared by the readers of many streams, so that each commit is folded once for all who have seen those before it. */
  readonly known?: KnownCommits;
  /** Called between two events; gives way to other work. */
  readonly pause?: GiveWay;
  readonly signal?: AbortSignal;
}

/** The events from a start on, until aborted. */
export async function* streamFrom(
  client: StreamClient,
  { session, head: first, place }: StreamStart,
  { known, pause, signal }: StreamFrom,
): AsyncGenerator<StreamedBatch, void> {
  const live = newLiveText();
  let head = first;
  for await (const record of client.followLive(session, { from: head.state.version, ...withSignal(signal) })) {
    if (signal?.aborted === true) return;
    if (record.kind === 'delta') {
      const events = live.add(record);
      if (events.length > 0) yield { events };
      continue;
    }
    const making = known?.get(record.chain) ?? streamedCommit(session, head, record, pause);
    // Known while it is made: other work that comes between its events may be a reader of the same commit.
    known?.set(record.chain, making);
    const commit = making instanceof Promise ? await making : making;
    head = commit.head;
    const rest = pause?.() ?? null;
    if (rest !== null) await rest;
    const batch = batchOf(commit, record.position, place, live);
    if (batch.events.length > 0) yield batch;
  }
}

/** What a reader gets of a commit: without what came before its place, and without the text that it has seen. */
function batchOf(commit: StreamedCommit, first: number, place: StreamPlace, live: LiveText): StreamedBatch {
  let isWhole = first > place.position || (first === place.position && place.skip === 0);
  const events = commit.positions.flatMap((said, index) => {
    const position = first + index;
    if (position < place.position) return [];
    const joined = live.join(position === place.position && place.skip > 0 ? said.slice(place.skip) : said);
    isWhole &&= joined === said;
    return joined;
  });
  return isWhole ? { events, whole: commit } : { events };
}

function streamedCommit(session: SessionId, from: ReplayStart, record: CommitRecord, pause?: GiveWay): MadeCommit {
  const folding = givingWay(newCheckedFold(session, from).addInSteps(record), pause);
  const streamed = (folded: FoldedTo | null): StreamedCommit => {
    if (folded === null)
      throw new RejectedError(reject('damaged', '', `${session} has no state at ${record.position}`));
    return { positions: folded.events.map(clientEvents), head: { state: folded.state, chain: record.chain } };
  };
  return folding instanceof Promise ? folding.then(streamed) : streamed(folding);
}

/** The stream as it is stored next before a position; else before its first event. */
async function startBefore(client: StreamClient, session: SessionId, position: number): Promise<ReplayStart> {
  const stored = position === 0 ? undefined : await client.storedStart?.(session, position)();
  const known = stored === undefined || isLeft(stored) ? null : stored.right;
  return known ?? (await genesisOf(client, session));
}

/** The stream before its first event. */
async function genesisOf(client: StreamClient, session: SessionId): Promise<ReplayStart> {
  const fold = newCheckedFold(session);
  for (const record of await must(client.records(session, undefined, 1))) {
    const folded = record.kind === 'commit' ? null : fold.add(record);
    if (folded !== null && record.kind === 'genesis') return { state: folded.state, chain: record.chain };
  }
  throw new RejectedError(reject('damaged', '', `the stream of ${session} has no genesis record`));
}

const withSignal = (signal?: AbortSignal): { readonly signal?: AbortSignal } =>
  signal === undefined ? {} : { signal };

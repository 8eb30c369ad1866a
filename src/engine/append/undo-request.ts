// Completes a request to undo a call: adds the batch in which the call settled, the files it changed, and where they are.
// State does not keep calls of earlier batches, so the stream is read backwards from its end. A client may only choose the
// batch and state the workspace; anything else it sends about the call is ignored.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EventOfKind, Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { BatchId, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { READ_PAGE_EVENTS } from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Journal } from '../../journal/journal.ts';

type UndoRequest = Extract<Ingress, { readonly kind: 'UndoRequested' }>;
type Answer<T> = Promise<Either<Rejection, T>>;

export interface Stream {
  readonly journal: Journal;
  readonly id: SessionId;
  /** The session after all of its events. */
  readonly state: SessionState;
  /** How many events are durable. */
  readonly version: Version;
  /** Events that were stepped after those, oldest first. */
  readonly pending: readonly IngressEvent[];
}

/**
 * The request with its batch, changes and workspace; else `unknown_call`, `write_running`, `nothing_to_undo`,
 * `already_undone` or `other_workspace`.
 */
export async function fillUndo(stream: Stream, request: UndoRequest): Answer<UndoRequest> {
  const { call_id, batch_id: wanted } = request;
  if (isLeftRunning(stream.state, request)) {
    const message = `an interrupt left call "${call_id}" running; undo it when it has settled`;
    return left(reject('write_running', '/call_id', message));
  }
  const undone = new Set<BatchId>();
  for await (const event of backwards(stream, JSON.stringify(call_id))) {
    if (isLeft(event)) return event;
    const found = event.right;
    if (found.kind === 'UndoSettled' && found.call_id === call_id && found.success) undone.add(found.batch_id);
    if (found.kind !== 'ToolCallSettled' || found.call_id !== call_id) continue;
    if (wanted === undefined || found.batch_id === wanted) return withChanges(request, found, undone);
  }
  return left(
    reject('unknown_call', '/call_id', `no call "${call_id}" has settled in this session; give the id of one that has`),
  );
}

const isLeftRunning = ({ detached = [] }: SessionState, { call_id, batch_id }: UndoRequest): boolean =>
  detached.some((call) => call.call_id === call_id && (batch_id === undefined || call.batch_id === batch_id));

function withChanges(
  request: UndoRequest,
  { batch_id, call_id, changes, workspace }: EventOfKind<'ToolCallSettled'>,
  undone: ReadonlySet<BatchId>,
): Either<Rejection, UndoRequest> {
  if (changes === undefined) {
    return left(reject('nothing_to_undo', '/call_id', `call "${call_id}" of ${batch_id} recorded no changes of files`));
  }
  if (undone.has(batch_id)) {
    return left(
      reject(
        'already_undone',
        '/call_id',
        `the files that call "${call_id}" of ${batch_id} changed were put back already`,
      ),
    );
  }
  if (request.workspace !== undefined && request.workspace !== workspace) {
    const where = workspace === undefined ? 'a workspace that its bridge did not name' : `the workspace ${workspace}`;
    return left(
      reject(
        'other_workspace',
        '/workspace',
        `call "${call_id}" of ${batch_id} changed files of ${where}, not of ${request.workspace}; undo it there`,
      ),
    );
  }
  return right({ ...request, batch_id, changes, ...(workspace === undefined ? {} : { workspace }) });
}

/** The events that may name the call, newest first. Texts without its id are not even parsed. */
async function* backwards(
  { journal, id, version, pending }: Stream,
  named: string,
): AsyncGenerator<Either<Rejection, IngressEvent>> {
  for (const event of pending.toReversed()) yield right(event);
  for (let end: number = version; end > 0;) {
    const from = Math.max(0, end - READ_PAGE_EVENTS);
    const texts: string[] = [];
    let begin = end;
    for (let at = from; at < end;) {
      const page = await journal.read(id, at as Position, end - at)();
      if (isLeft(page)) {
        yield page;
        return;
      }
      for (const { position, events } of page.right) {
        // The first commit may begin before `from`, and the last one end after `end`: the rest of it was read already.
        begin = Math.min(begin, position);
        const unread = events.slice(0, end - position).map(({ text }) => text);
        texts.push(...unread.filter((text) => text.includes(named)));
        at = position + events.length;
      }
    }
    // The stream was verified when the session was loaded, so each text is an event.
    for (const text of texts.toReversed()) yield right(JSON.parse(text) as IngressEvent);
    end = begin;
  }
}

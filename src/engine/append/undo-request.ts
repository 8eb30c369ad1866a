// Completes a request to undo a call: adds the batch in which the call settled, the files it changed, and where they are.
// State does not keep calls of earlier batches, so the stream is searched backwards from its end, a page at a time. A search
// keeps of a page only what it seeks, pauses between events, and reads a bounded distance; few run at a time in a process, and
// a request that ends work overtakes it. A client may only choose the batch and state the workspace; anything else it sends
// about the call is ignored.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EventOfKind, Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { BatchId, CallId, Position, SessionId, Version } from '../../../schemas/ids.ts';
import {
  READ_PAGE_BYTES,
  READ_PAGE_EVENTS,
  UNDO_SEARCHES_TOGETHER,
  UNDO_SEARCH_CHARS_MAX,
} from '../../../schemas/limits.ts';
import { versionAfter } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { openKeyedWork } from '../../blobs/keyed-work.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Pause } from '../../turns.ts';
import type { RequestBudget } from '../edge/budget.ts';

export type UndoRequest = Extract<Ingress, { readonly kind: 'UndoRequested' }>;
type Answer<T> = Promise<Either<Rejection, T>>;

export interface Stream {
  readonly journal: Pick<Journal, 'read'>;
  readonly id: SessionId;
  /** The session after all of its events. */
  readonly state: SessionState;
  /** How many events are durable. */
  readonly version: Version;
  /** Events that were stepped after those, oldest first. */
  readonly pending: readonly IngressEvent[];
  readonly pause: Pause;
  readonly budget: Pick<RequestBudget, 'undoChars' | 'wait'>;
}

/** What a search seeks, and what it has found. */
interface Search {
  readonly call_id: CallId;
  /** The last batch in which the call settled, when it is not named. */
  readonly batch_id: BatchId | undefined;
  settled: Settled | null;
  /** The batches whose files were put back after `settled`. */
  readonly undone: Set<BatchId>;
}

type Settlement = EventOfKind<'ToolCallSettled'>;

interface Settled {
  readonly batch_id: BatchId;
  readonly changes: Settlement['changes'] | undefined;
  readonly workspace: Settlement['workspace'] | undefined;
}

/**
 * The request with its batch, changes and workspace; else `unknown_call`, `write_running`, `nothing_to_undo`,
 * `already_undone` or `other_workspace`. Rejects when the request is overtaken.
 */
export async function fillUndo(stream: Stream, request: UndoRequest): Answer<UndoRequest> {
  const { call_id, batch_id } = request;
  if (isLeftRunning(stream.state, request)) {
    const message = `an interrupt left call "${call_id}" running; undo it when it has settled`;
    return left(reject('write_running', '/call_id', message));
  }
  const search: Search = { call_id, batch_id, settled: null, undone: new Set() };
  for (const event of stream.pending) note(search, event);
  if (search.settled === null) {
    const refused = await searchInTurn(stream, search);
    if (refused !== null) return left(refused);
  }
  return search.settled === null ? left(unknownCall(call_id, '')) : withChanges(request, search.settled, search.undone);
}

const unknownCall = (call_id: CallId, where: string): Rejection =>
  reject(
    'unknown_call',
    '/call_id',
    `no call "${call_id}" has settled in ${where}this session; give the id of one that has`,
  );

const isLeftRunning = ({ detached = [] }: SessionState, { call_id, batch_id }: UndoRequest): boolean =>
  detached.some((call) => call.call_id === call_id && (batch_id === undefined || call.batch_id === batch_id));

function withChanges(
  request: UndoRequest,
  { batch_id, changes, workspace }: Settled,
  undone: ReadonlySet<BatchId>,
): Either<Rejection, UndoRequest> {
  const { call_id } = request;
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

/** Takes from the next event what the search seeks; events of one page come oldest first. */
function note(search: Search, event: IngressEvent): void {
  if (event.kind === 'UndoSettled') {
    if (event.call_id === search.call_id && event.success) search.undone.add(event.batch_id);
  } else if (event.kind === 'ToolCallSettled' && event.call_id === search.call_id) {
    const { batch_id, changes, workspace } = event;
    if (search.batch_id === undefined || search.batch_id === batch_id)
      search.settled = { batch_id, changes, workspace };
  }
}

/** Searches of all engines of the process: each holds a page of a journal. */
const searches = openKeyedWork(UNDO_SEARCHES_TOGETHER);

/** Searches the durable events when a search may run; the rejection when they cannot be read, or when they are too many. */
async function searchInTurn(stream: Stream, search: Search): Promise<Rejection | null> {
  let isGivenUp = false;
  const run = (): Promise<Rejection | null> => searchBackwards(stream, search, () => isGivenUp);
  try {
    return await stream.budget.wait(searches.run(stream.id, run));
  } finally {
    // When the request was overtaken, its search ends with the page that it reads.
    isGivenUp = true;
  }
}

async function searchBackwards(stream: Stream, search: Search, isGivenUp: () => boolean): Promise<Rejection | null> {
  const { journal, id, version, budget } = stream;
  let count = COUNT_FIRST;
  for (let end: number = version; end > 0 && search.settled === null && !isGivenUp();) {
    if (budget.undoChars <= 0) return unknownCall(search.call_id, FAR);
    const from = Math.max(0, end - count) as Position;
    const page = await journal.read(id, from, end - from)();
    if (isLeft(page)) return page.left;
    const [first, last] = [page.right[0], page.right.at(-1)];
    if (last !== undefined && versionAfter(last) < end && count > 1) {
      // A page ends early when its events are large. The newest come first, so fewer are read.
      count >>= 1;
      continue;
    }
    let chars = 0;
    for (const { position, events } of page.right) {
      // The last commit may go on after `end`: the rest of it was searched already.
      const unread = events.slice(0, Math.max(0, end - position)).map(({ text }) => text);
      chars += await searchTexts(stream, search, unread);
    }
    budget.undoChars -= chars;
    if (chars < READ_PAGE_BYTES / 4) count = Math.min(2 * count, READ_PAGE_EVENTS);
    // The first commit may begin before `from`.
    end = Math.min(from, first?.position ?? from);
  }
  return null;
}

const COUNT_FIRST = 64;
const FAR = `the last ${UNDO_SEARCH_CHARS_MAX} characters of events of `;

/** Notes what these events say of the call; returns how many characters they have. */
async function searchTexts({ pause }: Stream, search: Search, texts: readonly string[]): Promise<number> {
  const named = `"call_id":${JSON.stringify(search.call_id)}`;
  let chars = 0;
  for (const text of texts) {
    const rest = pause();
    if (rest !== null) await rest;
    chars += text.length;
    // The stream was verified when the session was loaded, so each text is an event. Few are parsed.
    if (text.includes(named) && KINDS.some((kind) => text.includes(kind)))
      note(search, JSON.parse(text) as IngressEvent);
  }
  return chars;
}

const KINDS = ['"kind":"ToolCallSettled"', '"kind":"UndoSettled"'] as const;

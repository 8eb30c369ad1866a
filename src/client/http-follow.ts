// Follows a stream over HTTP: server-sent events. After a broken connection it reconnects and resumes after the last commit
// it saw, so that a reader does not notice a restart of the engine. What it cannot read again and again is told to the reader.
import { createParser } from 'eventsource-parser';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { FOLLOW_UNREADABLE_MAX } from '../../schemas/limits.ts';
import { CommitRecord, versionAfter } from '../../schemas/record.ts';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { DeltaFrame } from '../../schemas/wire.ts';
import { FollowRefused } from './follow-refused.ts';
import type { Transport } from './http-transport.ts';
import { joinSignals } from './join-signals.ts';
import { rejectionFrom } from './problem.ts';

const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 2_000;

export interface Followed {
  /** The session's route. */
  readonly path: string;
  readonly from: number;
  readonly signal?: AbortSignal | undefined;
  /** Also what the model writes. */
  readonly deltas: boolean;
}

/**
 * Yields commits in order, from the one that contains `from`, and what the model writes between them, until aborted. Throws
 * when the engine refuses, and as `internal` when FOLLOW_UNREADABLE_MAX connections in a row end with a message that this
 * client cannot read; waits while the engine does not answer.
 */
export async function* followOver(transport: Transport, followed: Followed): AsyncGenerator<CommitRecord | DeltaFrame> {
  const { signal, release } = joinSignals(followed.signal, transport.closed);
  let at = followed.from;
  let pauseMs = PAUSE_MS_MIN;
  /** The last frame, while no commit has followed it: another connection begins the text of its turn anew. */
  let shown: DeltaFrame | null = null;
  let unreadable = 0;
  try {
    while (!signal.aborted) {
      const from = at;
      const path = `${followed.path}/events?from=${from}${followed.deltas ? '&deltas=1' : ''}`;
      if (shown !== null) yield { ...shown, parts: [], retract: true };
      shown = null;
      let fault: string | null = null;
      for await (const message of connection(transport, path, signal)) {
        const next = nextOf(message, at, followed.from);
        if ('unreadable' in next) {
          fault = next.unreadable;
          break;
        }
        const { item } = next;
        shown = item.kind === 'delta' ? item : null;
        at = next.end;
        yield item;
        if (signal.aborted) return;
      }
      if (signal.aborted) return;
      unreadable = fault === null || at > from ? 0 : unreadable + 1;
      if (fault !== null && unreadable >= FOLLOW_UNREADABLE_MAX) throw new FollowRefused(unreadableAt(at, fault));
      // While connections bring nothing new, the pause between them doubles.
      pauseMs = at > from ? PAUSE_MS_MIN : Math.min(2 * pauseMs, PAUSE_MS_MAX);
      await pause(pauseMs, signal);
    }
  } finally {
    release();
  }
}

/** Waits so long, or until the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** What was received, with the position after it; a commit of another stream is unreadable too. */
function nextOf(message: Received, at: number, first: number): Unreadable | (ReceivedItem & { readonly end: number }) {
  if ('unreadable' in message || message.item.kind === 'delta') return { ...message, end: at };
  const { item } = message;
  const end = positionAfter(item, at, first);
  return end === null ? { unreadable: `a commit at position ${item.position}` } : { item, end };
}

const unreadableAt = (position: number, fault: string): Rejection =>
  reject(
    'internal',
    '',
    `${FOLLOW_UNREADABLE_MAX} connections in a row brought at position ${position} what this client cannot read: ${fault}; use a client of the engine's version, and report the fault`,
  );

/** The position after a commit that goes on at `at`; null for one of another stream. Only the first may begin before it. */
function positionAfter(commit: CommitRecord, at: number, first: number): number | null {
  const end = versionAfter(commit);
  return commit.position > at || (commit.position < at && at !== first) || end <= at ? null : end;
}

/** The commits and frames of one connection, until it ends. Throws when the engine refuses permanently. */
async function* connection(transport: Transport, path: string, signal: AbortSignal): AsyncGenerator<Received> {
  const opened = await transport.send({ path, signal });
  if (isLeft(opened)) {
    if (TRANSIENT.has(opened.left.code)) return;
    throw new FollowRefused(opened.left);
  }
  const { response, release } = opened.right;
  try {
    for await (const message of messagesOf(response, signal)) {
      if ('fault' in message) {
        if (TRANSIENT.has(message.fault.code)) return;
        throw new FollowRefused(message.fault);
      }
      yield message;
    }
  } finally {
    release();
    // Closes a connection that was left early, so that the engine reads no further commits for it.
    await response.body?.cancel().catch(() => undefined);
  }
}

const TRANSIENT: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'closing',
  'internal',
  'queue_full',
  'storage_failed',
  'storage_full',
  'storage_unknown',
]);

interface ReceivedItem {
  readonly item: CommitRecord | DeltaFrame;
}

/** What an engine never sends. It is the last of its connection. */
interface Unreadable {
  readonly unreadable: string;
}

type Received = ReceivedItem | Unreadable;
type Message = Received | { readonly fault: Rejection };

async function* messagesOf(response: Response, signal: AbortSignal): AsyncGenerator<Message> {
  const ready: Message[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => ready.push(messageOf(event, data)) });
  const utf8 = new TextDecoder();
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  // On Node 20 the signal of a fetch reaches its body only until the request is collected as garbage.
  const leave = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    for (;;) {
      const chunk = await reader.read().catch(() => null);
      // The connection broke or was aborted; the caller knows which.
      if (chunk === null || chunk.done) return;
      parser.feed(utf8.decode(chunk.value, { stream: true }));
      yield* ready.splice(0);
    }
  } finally {
    signal.removeEventListener('abort', leave);
    reader.releaseLock();
  }
}

function messageOf(event: string | undefined, data: string): Message {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return { unreadable: `a message of ${data.length} characters that is not JSON` };
  }
  if (event === 'fault') {
    const fault = rejectionFrom(value);
    return fault === null ? { unreadable: 'a fault with an unknown code' } : { fault };
  }
  const decoded = event === 'delta' ? decode(DeltaFrame, value) : decode(CommitRecord, value);
  if (!isLeft(decoded)) return { item: decoded.right };
  const { path, message } = decoded.left;
  return {
    unreadable: `a ${event === 'delta' ? 'frame of deltas' : 'commit'} (${path}: ${message})`
      .slice(0, 500)
      .toWellFormed(),
  };
}

// Follows a stream over HTTP: server-sent events. After a broken connection it reconnects and resumes after the last commit
// it saw, so that a reader does not notice a restart of the engine.
import { createParser } from 'eventsource-parser';
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { CommitRecord, versionAfter } from '../../schemas/record.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
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
 * when the engine refuses; waits while it does not answer.
 */
export async function* followOver(transport: Transport, followed: Followed): AsyncGenerator<CommitRecord | DeltaFrame> {
  const { signal, release } = joinSignals(followed.signal, transport.closed);
  let at = followed.from;
  let pauseMs = PAUSE_MS_MIN;
  /** The last frame, while no commit has followed it: another connection begins the text of its turn anew. */
  let shown: DeltaFrame | null = null;
  try {
    while (!signal.aborted) {
      const from = at;
      const path = `${followed.path}/events?from=${from}${followed.deltas ? '&deltas=1' : ''}`;
      if (shown !== null) yield { ...shown, parts: [], retract: true };
      shown = null;
      for await (const item of connection(transport, path, signal)) {
        shown = item.kind === 'delta' ? item : null;
        const end = item.kind === 'delta' ? at : positionAfter(item, at, followed.from);
        if (end === null) break;
        at = end;
        yield item;
        if (signal.aborted) return;
      }
      if (signal.aborted) return;
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

/** The position after a commit that goes on at `at`; null for one of another stream. Only the first may begin before it. */
function positionAfter(commit: CommitRecord, at: number, first: number): number | null {
  const end = versionAfter(commit);
  return commit.position > at || (commit.position < at && at !== first) || end <= at ? null : end;
}

/** The commits and frames of one connection, until it ends. Throws when the engine refuses permanently. */
async function* connection(
  transport: Transport,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<CommitRecord | DeltaFrame> {
  const opened = await transport.send({ path, signal });
  if (isLeft(opened)) {
    if (TRANSIENT.has(opened.left.code)) return;
    throw new FollowRefused(opened.left);
  }
  const { response, release } = opened.right;
  try {
    for await (const message of messagesOf(response)) {
      if ('fault' in message) {
        if (TRANSIENT.has(message.fault.code)) return;
        throw new FollowRefused(message.fault);
      }
      yield message.item;
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

type Message = { readonly item: CommitRecord | DeltaFrame } | { readonly fault: Rejection };

async function* messagesOf(response: Response): AsyncGenerator<Message> {
  const ready: (Message | null)[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => ready.push(messageOf(event, data)) });
  const utf8 = new TextDecoder();
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const chunk = await reader.read().catch(() => null);
      // The connection broke or was aborted; the caller knows which.
      if (chunk === null || chunk.done) return;
      parser.feed(utf8.decode(chunk.value, { stream: true }));
      for (const message of ready.splice(0)) {
        if (message === null) return;
        yield message;
      }
    }
  } finally {
    reader.releaseLock();
  }
}

/** Null for a message that an engine never sends. */
function messageOf(event: string | undefined, data: string): Message | null {
  try {
    const value: unknown = JSON.parse(data);
    if (event === 'fault') {
      const fault = rejectionFrom(value);
      return fault === null ? null : { fault };
    }
    const decoded = event === 'delta' ? decode(DeltaFrame, value) : decode(CommitRecord, value);
    return isLeft(decoded) ? null : { item: decoded.right };
  } catch {
    return null;
  }
}

// Who may keep a connection. A connection is a stranger's until a request on it has named the token: strangers get few
// connections and little time, and the oldest of them goes when another one comes, so that they cannot keep others out. A
// client may open many at once, so each has a moment to be read before it can go.
// Known connections have a limit of their own, with slots that only operators may take, and a smaller one for viewers. A
// reader that stalls loses its connection, and so does whoever sends many requests without waiting for an answer.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Scope } from '../../schemas/access.ts';
import {
  CONNECTIONS_FOR_OPERATORS,
  CONNECTIONS_MAX,
  CONNECTIONS_OF_VIEWERS_MAX,
  REQUESTS_PER_CONNECTION_MAX,
  STALLED_MS_MAX,
  STRANGERS_AT_ONCE_MAX,
  STRANGERS_MAX,
  STRANGER_MS_MIN,
  STRANGER_MS_MAX,
} from '../../schemas/limits.ts';

export interface Door {
  /**
   * A request on this connection has named a token of this scope. False when there is no slot for it: operators may take
   * every slot, others all but CONNECTIONS_FOR_OPERATORS, viewers at most CONNECTIONS_OF_VIEWERS_MAX.
   */
  admit(socket: Socket, scope: Scope): boolean;
  /** The connection carries a stream from now on: it is never idle. */
  keepOpen(socket: Socket): void;
  /** Watches the connections of another server, too. */
  watch(server: Server): void;
}

/** Watches the connections of a server from its first one on; those of all its servers are counted together. */
export function newDoor(server: Server, stalledMs = STALLED_MS_MAX): Door {
  /** With the times they came, and the timers that end them; the oldest first. */
  const strangers = new Map<Socket, { readonly atMs: number; readonly timer: NodeJS.Timeout }>();
  /** The one that was used longest ago first. */
  const known = new Map<Socket, Scope>();
  /** The requests of a connection that are not answered yet. */
  const open = new WeakMap<Socket, number>();

  function forget(socket: Socket): void {
    noStranger(socket);
    known.delete(socket);
  }

  function noStranger(socket: Socket): void {
    clearTimeout(strangers.get(socket)?.timer);
    strangers.delete(socket);
  }

  /** Makes room for another stranger: closes the oldest ones, but none that came a moment ago and was not read yet. */
  function makeRoomForStranger(atMs: number): void {
    for (const [socket, stranger] of strangers) {
      const isFresh = atMs - stranger.atMs < STRANGER_MS_MIN;
      if (strangers.size < (isFresh ? STRANGERS_AT_ONCE_MAX : STRANGERS_MAX)) return;
      noStranger(socket);
      socket.destroy();
    }
  }

  function onConnection(socket: Socket): void {
    // Given back to the server, after it asked for a protocol that is not spoken here.
    if (strangers.has(socket) || known.has(socket)) return;
    const atMs = performance.now();
    makeRoomForStranger(atMs);
    strangers.set(socket, { atMs, timer: setTimeout(() => socket.destroy(), STRANGER_MS_MAX).unref() });
    socket.once('close', () => forget(socket));
  }

  function onRequest({ socket }: IncomingMessage, response: ServerResponse): void {
    const unanswered = (open.get(socket) ?? 0) + 1;
    open.set(socket, unanswered);
    // Answers that wait for others on the same connection are held in memory, whole.
    if (unanswered > REQUESTS_PER_CONNECTION_MAX) socket.destroy();
    const scope = known.get(socket);
    if (scope !== undefined) keep(socket, scope);
    response.once('close', () => open.set(socket, (open.get(socket) ?? 1) - 1));
    // Emitted when nothing was sent or received for that long. A response may wait; what is ready must be taken.
    response.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    socket.setTimeout(stalledMs);
  }

  function watch(watched: Server): void {
    watched.on('connection', onConnection);
    // Before the server answers, which may be at once.
    watched.prependListener('request', onRequest);
  }
  watch(server);

  /** Keeps a connection, as the one that was used last. */
  function keep(socket: Socket, scope: Scope): void {
    known.delete(socket);
    known.set(socket, scope);
  }

  const isIdle = (socket: Socket): boolean => (open.get(socket) ?? 0) === 0;

  /** Ends a connection so that there is a slot for this scope; false when none may be ended. */
  function makeRoom(scope: Scope): boolean {
    const found = endedFor(scope, [...known], isIdle);
    if (found === undefined) return false;
    known.delete(found);
    found.destroy();
    return true;
  }

  return {
    watch,
    keepOpen: (socket) => void open.set(socket, (open.get(socket) ?? 0) + 1),
    admit(socket, scope) {
      if (known.has(socket)) return true;
      if (isFull(known, scope) && !makeRoom(scope)) return false;
      noStranger(socket);
      if (!socket.destroyed) keep(socket, scope);
      return true;
    },
  };
}

const isOf =
  (scope: Scope) =>
  ([, held]: readonly [Socket, Scope]): boolean =>
    held === scope;

type Kept = readonly [Socket, Scope];

/**
 * The idle connection that was used longest ago, for a viewer one of a viewer; an operator may also end one that is not idle, of
 * a viewer or else of a bridge. The connections are in the order of their last use.
 */
function endedFor(scope: Scope, kept: readonly Kept[], isIdle: (socket: Socket) => boolean): Socket | undefined {
  const idle = kept.find(([socket, held]) => isIdle(socket) && (scope !== 'viewer' || held === 'viewer'));
  const busy = scope === 'operator' ? (kept.find(isOf('viewer')) ?? kept.find(isOf('bridge'))) : undefined;
  return (idle ?? busy)?.[0];
}

function isFull(known: ReadonlyMap<Socket, Scope>, scope: Scope): boolean {
  if (known.size >= (scope === 'operator' ? CONNECTIONS_MAX : CONNECTIONS_MAX - CONNECTIONS_FOR_OPERATORS)) return true;
  return scope === 'viewer' && [...known].filter(isOf('viewer')).length >= CONNECTIONS_OF_VIEWERS_MAX;
}

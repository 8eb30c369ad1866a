// Who may keep a connection. A connection is a stranger's until a request on it has named the token: strangers get few
// connections and little time, and the oldest of them goes when another one comes, so that they cannot keep others out.
// Known connections have a limit of their own, with slots that only operators may take.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { CONNECTIONS_FOR_OPERATORS, CONNECTIONS_MAX, STRANGERS_MAX, STRANGER_MS_MAX } from '../../schemas/limits.ts';

/** Operators may take every slot, others all but CONNECTIONS_FOR_OPERATORS. */
export type Standing = 'operator' | 'other';

export interface Door {
  /** A request on this connection has named a token of this standing. False when there is no slot for it. */
  admit(socket: Socket, standing: Standing): boolean;
}

/** Watches the connections of a server from its first one on. */
export function newDoor(server: Server): Door {
  /** With the timers that end them, the oldest first. */
  const strangers = new Map<Socket, NodeJS.Timeout>();
  /** The one that was used longest ago first. */
  const known = new Map<Socket, Standing>();
  /** The requests of a connection that are not answered yet. */
  const open = new WeakMap<Socket, number>();

  function forget(socket: Socket): void {
    clearTimeout(strangers.get(socket));
    strangers.delete(socket);
    known.delete(socket);
  }

  server.on('connection', (socket: Socket) => {
    const [oldest] = strangers.keys();
    if (strangers.size >= STRANGERS_MAX) oldest?.destroy();
    strangers.set(socket, setTimeout(() => socket.destroy(), STRANGER_MS_MAX).unref());
    socket.once('close', () => forget(socket));
  });

  // Before the server answers, which may be at once.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    open.set(socket, (open.get(socket) ?? 0) + 1);
    const standing = known.get(socket);
    if (standing !== undefined) keep(socket, standing);
    response.once('close', () => open.set(socket, (open.get(socket) ?? 1) - 1));
  });

  /** Keeps a connection, as the one that was used last. */
  function keep(socket: Socket, standing: Standing): void {
    known.delete(socket);
    known.set(socket, standing);
  }

  /** Ends the idle connection that was used longest ago; an operator may also end one that is not idle, of another. */
  function makeRoom(standing: Standing): boolean {
    let found: Socket | undefined;
    for (const [socket, held] of known) {
      if ((open.get(socket) ?? 0) === 0) {
        found = socket;
        break;
      }
      if (standing === 'operator' && held === 'other') found ??= socket;
    }
    if (found === undefined) return false;
    known.delete(found);
    found.destroy();
    return true;
  }

  return {
    admit(socket, standing) {
      if (known.has(socket)) return true;
      const most = standing === 'operator' ? CONNECTIONS_MAX : CONNECTIONS_MAX - CONNECTIONS_FOR_OPERATORS;
      if (known.size >= most && !makeRoom(standing)) return false;
      clearTimeout(strangers.get(socket));
      strangers.delete(socket);
      if (!socket.destroyed) keep(socket, standing);
      return true;
    },
  };
}

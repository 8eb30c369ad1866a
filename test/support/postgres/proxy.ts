// A proxy before a server that cuts the connection of a statement: before it is sent, while it waits, or after it took effect
// and before its answer arrives. The server keeps its end of a cut connection, as it does behind a broken network.
import { type Socket, connect, createServer } from 'node:net';

/**
 * `before_sending`: the server never gets the statement. `before_commit`: it gets it, and the client is cut off at once.
 * `after_commit`: the client is cut off when the answer arrives. `when_told`: it is cut off by `cutNow`.
 */
export type Cut = 'before_sending' | 'before_commit' | 'after_commit' | 'when_told';

const SYNC = Buffer.of(0x53, 0, 0, 0, 4);

export interface Proxy {
  readonly port: number;
  /** Cuts the next connection whose statement has this text. */
  readonly cutNext: (text: string, cut: Cut) => void;
  /** Whether the cut has happened. */
  readonly hasCut: () => boolean;
  /** Cuts the connection that was to be cut when told. */
  readonly cutNow: () => void;
  readonly close: () => Promise<void>;
}

export async function openProxy(target: number): Promise<Proxy> {
  let next: { readonly text: string; readonly cut: Cut } | null = null;
  const sockets = new Set<Socket>();
  let marked: Socket | null = null;

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let isDoomed = false;
    let isAlmostCut = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('data', (data) => {
      const due = next !== null && data.includes(next.text) ? next.cut : null;
      if (due !== null) next = null;
      if (due !== 'before_sending') upstream.write(data);
      if (due === 'before_commit') isAlmostCut = true;
      if (due === 'when_told') marked = client;
      // The server begins to work once it has the whole request, which a Sync message ends.
      if (due === 'before_sending' || (isAlmostCut && data.subarray(-SYNC.length).equals(SYNC))) client.destroy();
      if (due === 'after_commit') isDoomed = true;
    });
    upstream.on('data', (data) => {
      if (isDoomed) client.destroy();
      else client.write(data);
    });
    client.on('end', () => upstream.end());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutNext: (text, cut) => {
      next = { text, cut };
    },
    hasCut: () => next === null,
    cutNow: () => void marked?.destroy(),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

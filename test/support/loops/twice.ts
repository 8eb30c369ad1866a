// A network that delivers twice: every report and every request of an application reaches the engine two times, and its sender
// gets the second answer.
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Doubling {
  readonly url: string;
  /** How many requests have been delivered twice. */
  readonly doubled: () => number;
  readonly close: () => Promise<void>;
}

/** What changes the state of a session; leases and their heartbeats are asked for once. */
const isDoubled = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'POST' && /\/(submits|events|sessions)$/.test(url);

export async function deliverTwice(target: string): Promise<Doubling> {
  let doubled = 0;

  const forward = (asked: IncomingMessage, body: Buffer): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { method, headers, url = '' } = asked;
      const sent = request(
        new URL(url, target),
        { method, headers: { ...headers, host: new URL(target).host } },
        resolve,
      );
      asked.once('close', () => sent.destroy());
      sent.once('error', reject);
      sent.end(body);
    });

  async function answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await asked.toArray());
    if (isDoubled(asked)) {
      doubled += 1;
      await once((await forward(asked, body)).resume(), 'end');
    }
    const reply = await forward(asked, body);
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
    response.once('close', () => reply.destroy());
  }

  const server = createServer((asked, response) => {
    answer(asked, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    doubled: () => doubled,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

// A real server on loopback, over a client of the test's choice.
import type { EngineClient } from '../../../src/client/client.ts';
import { connect } from '../../../src/client/http-client.ts';
import { type Serving, serve } from '../../../src/server/serve.ts';

export const TOKEN = 'a'.repeat(64);

export interface Served extends Serving {
  readonly client: EngineClient;
  readonly port: number;
}

export async function serveClient(engine: EngineClient, port = 0): Promise<Served> {
  const serving = await serve(engine, { token: TOKEN, port });
  const { port: taken } = new URL(serving.url);
  return { url: serving.url, port: Number(taken), client: connect(serving.url, TOKEN), close: () => serving.close() };
}

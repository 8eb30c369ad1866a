// A real server on loopback, over any engine client.
import { afterAll, beforeAll } from 'vitest';
import type { EngineClient } from '../../../src/client/client.ts';
import { connect } from '../../../src/client/http-client.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Serving } from '../../../src/server/listen.ts';
import { serve } from '../../../src/server/serve.ts';
import { fixedTokens } from '../../../src/server/tokens.ts';
import { newWorld } from './world.ts';

export const TOKEN = 'a'.repeat(64);

export interface Served extends Serving {
  readonly client: EngineClient;
  readonly port: number;
}

export async function serveClient(engine: EngineClient, port = 0): Promise<Served> {
  const serving = await serve(engine, { tokens: fixedTokens({ operator: TOKEN }), port });
  const { port: taken } = new URL(serving.url);
  return { url: serving.url, port: Number(taken), client: connect(serving.url, TOKEN), close: () => serving.close() };
}

export interface ServedEngine {
  readonly engine: Engine;
  readonly served: Served;
}

/** One engine over stores in memory, served for all tests of a file. The result may be called only inside a test. */
export function serveForAll(): () => ServedEngine {
  let made: ServedEngine | null = null;
  beforeAll(async () => {
    const { engine } = await newWorld();
    made = { engine, served: await serveClient(engine.client) };
  });
  afterAll(async () => {
    await made?.served.close();
    await made?.engine.close();
  });
  return () => {
    if (made === null) throw new Error('the server runs only while tests run');
    return made;
  };
}

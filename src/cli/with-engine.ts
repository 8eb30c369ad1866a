// Gives a command the engine of a data directory: the running one, or one opened in the command's own process.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../client/client.ts';
import type { Engine, EngineOptions } from '../engine/engine.ts';
import { requireData } from './data-dir.ts';
import { findEngine, namingHolder } from './engine-address.ts';
import { mustBe } from '../client/must.ts';

/** Calls `work` with the engine of an existing data directory: the running one, or one opened for this command only. */
export async function withEngine<T>(
  dataDir: string,
  work: (client: EngineClient) => Promise<T>,
  options: Pick<EngineOptions, 'everyTable'> = {},
): Promise<T> {
  for (let looks = 1; ; looks += 1) {
    const running = await findEngine(dataDir);
    if (running !== null) return await work(running.client).finally(() => running.client.close());
    await requireData(dataDir);
    const opened = await openAlone({ dataDir, ...options });
    if (!isLeft(opened)) return await workWith(opened.right, work);
    // The holder of the directory may be an engine that is starting and has not published its address yet.
    if (opened.left.code !== 'in_use' || looks >= LOOKS_MAX) return mustBe(await namingHolder(dataDir, opened));
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** How often, and at what interval, a directory in use is tried again before the command fails. */
const LOOKS_MAX = 20;
const LOOK_EVERY_MS = 250;

async function workWith<T>(engine: Engine, work: (client: EngineClient) => Promise<T>): Promise<T> {
  try {
    return await work(engine.client);
  } finally {
    await engine.close();
  }
}

// Loaded only when no engine runs: a command that asks a running engine needs neither a journal nor a validator.
async function openAlone(options: EngineOptions): Promise<Either<Rejection, Engine>> {
  const { openEngine } = await import('../engine/engine.ts');
  return await openEngine(options)();
}

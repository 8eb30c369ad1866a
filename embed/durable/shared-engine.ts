// Engines that the loops of one process share: a data directory can be opened once, and a server runs many sessions. Each
// session has one loop at a time.
import { resolve } from 'node:path';
import { RejectedError } from '../../src/client/index.ts';
import { type EnginePlace, type PlacedEngine, placeOf } from '../runs/engine-place.ts';
import { type LocalPorts, type OpenedEngine, openPlaced } from '../runs/open-local.ts';
import { SessionInUse } from './errors.ts';

export interface SharedEngine extends Pick<OpenedEngine, 'client' | 'url'> {
  readonly place: PlacedEngine;
  /** Gives the session back; the engine closes when no session of this process uses it. */
  readonly close: () => Promise<void>;
}

interface Shared {
  readonly opening: Promise<OpenedEngine>;
  readonly sessions: Set<string>;
}

const engines = new Map<string, Shared>();
const closings = new Map<string, Promise<void>>();

/**
 * Opens the engine for one session, or shares it: then its ports are those of the first. Throws a {@link SessionInUse} when
 * this process, or another one on the data directory, has the session, and a RejectedError when the engine cannot be opened.
 */
export async function shareEngine(options: EnginePlace & LocalPorts, session: string): Promise<SharedEngine> {
  const place = placeOf(options);
  const name = 'url' in place ? `${place.url} ${place.token}` : resolve(place.dataDir);
  while (closings.has(name)) await closings.get(name);
  const shared = engines.get(name) ?? { opening: openPlaced(place, options), sessions: new Set<string>() };
  if (shared.sessions.has(session)) {
    throw new SessionInUse(session, 'this process runs it already. close() that one first, or share it');
  }
  engines.set(name, shared);
  shared.sessions.add(session);
  const leave = async (close: () => Promise<void>): Promise<void> => {
    if (!shared.sessions.delete(session) || shared.sessions.size > 0) return;
    engines.delete(name);
    const closing = close().finally(() => closings.delete(name));
    closings.set(name, closing);
    await closing;
  };
  try {
    const { client, url, close } = await shared.opening;
    return { client, url, place, close: () => leave(close) };
  } catch (error) {
    await leave(() => Promise.resolve());
    throw isInUse(error) ? new SessionInUse(session, OTHER_PROCESS, { cause: error }) : error;
  }
}

const OTHER_PROCESS =
  'another process has its data directory open. End it, or let both use one engine: start `refold serve` and give `engine`';

const isInUse = (error: unknown): boolean => error instanceof RejectedError && error.rejection.code === 'in_use';

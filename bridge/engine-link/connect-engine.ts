// Connects a bridge to its engine: by a stream at the socket of its data directory, else by a stream at its URL, else by HTTP.
import type { EngineClient } from '../../src/client/client.ts';
import { socketOf } from '../../src/client/engine-address.ts';
import { connect } from '../../src/client/http-client.ts';
import { openStream } from '../../src/client/frames/open-stream.ts';
import { type Connection, overFrames } from '../../src/client/frames/over-frames.ts';

interface EngineConnectionOptions {
  readonly url: string;
  readonly token: string;
  /** The data directory of the engine; null where it is not known. */
  readonly dataDir: string | null;
  readonly refuseListener: () => string | null;
  /** Told how requests go from now on, when that changes; `why` says what speaks against a better one. */
  readonly onConnection: (connection: Connection, why: string | null) => void;
}

export interface EngineConnection {
  readonly client: EngineClient;
  /** Resolves with how requests go; null when no engine answers yet. */
  ready(): Promise<Connection | null>;
}

export function connectEngine({ dataDir, onConnection, ...at }: EngineConnectionOptions): EngineConnection {
  const socketPath = (): Promise<string | null> =>
    dataDir === null ? Promise.resolve(null) : socketOf(dataDir, at.url);
  const frames = overFrames({
    open: (onEnd) => openStream({ ...at, socketPath }, onEnd),
    now: () => performance.now(),
    onConnection,
  });
  return {
    client: connect(at.url, at.token, { refuseListener: at.refuseListener, over: frames.over }),
    ready: () => frames.ready(),
  };
}

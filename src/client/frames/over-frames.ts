// Sends requests over a stream where there is one, and over HTTP where not: an engine of a version without streams, a proxy
// that does not let one through, a request that no frame carries. A lost stream is opened again with the next request.
import { STREAM_AGAIN_MS } from '../../../schemas/limits.ts';
import type { Exchanger } from '../platform/platform.ts';
import type { FrameStream } from './frame-stream.ts';
import type { StreamOpening } from './open-stream.ts';

/** How requests reach the engine. */
export type Connection = 'socket' | 'upgrade' | 'http';

export interface OverFramesOptions {
  readonly open: (onEnd: () => void) => Promise<StreamOpening>;
  /** In milliseconds, of a clock that is never set. */
  readonly now: () => number;
  /** Told how requests go from now on, when that changes; `why` says what speaks against a better one. */
  readonly onConnection: (connection: Connection, why: string | null) => void;
}

export interface OverFrames {
  readonly over: (http: Exchanger) => Exchanger;
  /** Resolves once it is known how requests go, or that no engine answers (null). */
  ready(): Promise<Connection | null>;
}

export function overFrames({ open, now, onConnection }: OverFramesOptions): OverFrames {
  let stream: FrameStream | null = null;
  let opening: Promise<FrameStream | null> | null = null;
  let refusedAtMs = -Infinity;
  let told: Connection | null = null;
  let isClosed = false;

  function tell(connection: Connection, why: string | null): void {
    if (connection === told) return;
    told = connection;
    onConnection(connection, why);
  }

  async function openNow(): Promise<FrameStream | null> {
    const opened = await open(() => {
      stream = null;
    });
    if (opened.stream === null) {
      refusedAtMs = now();
      // An engine that is away answers nothing over HTTP either.
      if (opened.answered) tell('http', opened.why);
      return null;
    }
    if (isClosed) opened.stream.close();
    if (!opened.stream.isOpen()) return null;
    stream = opened.stream;
    tell(opened.over, opened.why);
    return stream;
  }

  function current(): FrameStream | Promise<FrameStream | null> | null {
    if (stream !== null) return stream;
    if (opening === null && now() - refusedAtMs < STREAM_AGAIN_MS) return null;
    opening ??= openNow().finally(() => {
      opening = null;
    });
    return opening;
  }

  return {
    async ready() {
      await current();
      return told;
    },
    over: (http) => ({
      async exchange(request) {
        if (isClosed) throw new Error('the client is closed');
        const used = (await current())?.exchange(request) ?? null;
        return (await used) ?? (await http.exchange(request));
      },
      isShared: () => stream !== null,
      close() {
        isClosed = true;
        stream?.close();
        http.close();
      },
    }),
  };
}

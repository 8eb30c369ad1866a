// A host and its session: one session a connection, made for it or named by it. When the host goes, the session stays as it is,
// and another connection may go on with it.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { HOST_OPENING_MS } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { isExternal } from '../../schemas/run.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { CreateSession } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import { must } from '../client/must.ts';
import { type Clock, sleep } from '../clock.ts';
import { type SessionFeed, openFeed } from './feed.ts';
import { type HostCalls, newHostCalls } from './host-calls.ts';
import { HOST_CONFIG } from './host-run.ts';

export interface Host {
  readonly client: EngineClient;
  readonly session: SessionId;
  readonly calls: HostCalls;
  state(): SessionState;
  /** Called with the state after each commit, until the returned function is called. */
  onState(reader: (state: SessionState) => void): () => void;
  /** Records an event; returns why it is refused. */
  submit(event: Ingress): Promise<Rejection | null>;
  /** Resolves when the host session of the run is open, so that its tools are listed, or when that takes too long. */
  readonly opened: Promise<unknown>;
  /** Rejects when the session can no longer be followed. */
  readonly lost: Promise<never>;
  close(): void;
}

export interface HostOptions {
  readonly client: EngineClient;
  readonly clock: Clock;
  /** The session to go on with. */
  readonly session?: SessionId;
  /** What a new session is created with beside its config. */
  readonly create?: Omit<CreateSession, 'config'>;
  readonly newId?: () => string;
}

export async function openMcpHost({ client, clock, session: named, create = {}, newId }: HostOptions): Promise<Host> {
  const config = { ...HOST_CONFIG, host_session_open: true };
  const session = named ?? (await must(client.createSession({ ...create, config }))).session_id;
  const feed = await openFeed(client, session);
  const calls = newHostCalls({ client, session, feed, clock, ...(newId === undefined ? {} : { newId }) });
  const lost = new Promise<never>((_, fail) => {
    feed.read({ onEvents: () => undefined, onEnd: fail });
  });
  // A session of a model is not begun for a host that only looks.
  if (isExternal(feed.state())) await calls.begin();
  // Whoever does not wait for it is not told.
  lost.catch(() => undefined);
  return {
    client,
    session,
    calls,
    opened: untilOpened(feed, clock),
    lost,
    state: () => feed.state(),
    onState: (reader) => feed.read({ onEvents: (_events, state) => reader(state), onEnd: () => undefined }),
    submit: async (event) => {
      const submitted = await client.submit(session, { events: [event] })();
      return isLeft(submitted) ? submitted.left : null;
    },
    close: () => {
      calls.close();
      feed.close();
    },
  };
}

function untilOpened(feed: SessionFeed, clock: Clock): Promise<unknown> {
  const over = new AbortController();
  const opened = feed.until(({ run }) => (run?.phase === 'opening' ? null : true));
  const settled = opened.catch(() => true).finally(() => over.abort());
  return Promise.race([settled, sleep(clock, HOST_OPENING_MS, over.signal)]);
}

// The client of an engine in another process, over HTTP.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { Digest, type SessionId } from '../../schemas/ids.ts';
import type { EngineClient } from './client.ts';
import { followEvents } from './http-follow.ts';
import { newTransport } from './http-transport.ts';

/** A client of the engine at `url`, with its bearer token. Connects when it is first used. */
export function connect(url: string, token: string): EngineClient {
  const transport = newTransport(url, token);
  const { call } = transport;
  return {
    info: () => call({ method: 'GET', path: '/v1' }),
    createSession: (request = {}) => call({ method: 'POST', path: '/v1/sessions', json: request }),
    sessions: () => call({ method: 'GET', path: '/v1/sessions' }),
    session: (id) => call({ method: 'GET', path: session(id) }),
    submit: (id, request) => call({ method: 'POST', path: `${session(id)}/events`, json: request }),
    records: (id, from, limit) => {
      const query = new URLSearchParams();
      if (from !== undefined) query.set('from', String(from));
      if (limit !== undefined) query.set('limit', String(limit));
      return call({ method: 'GET', path: `${session(id)}/records?${query.toString()}` });
    },
    follow: (id, { from = 0, signal } = {}) => followEvents(transport, { path: session(id), from, signal }),
    lease: (request, signal) => call({ method: 'POST', path: '/v1/leases', json: request, signal }),
    heartbeat: (request) => call({ method: 'POST', path: '/v1/leases/heartbeat', json: request }),
    release: (request) => call({ method: 'POST', path: '/v1/leases/release', json: request }),
    putBlob: (bytes) => async () => {
      const stored = await call<{ readonly ref: unknown }>({ method: 'POST', path: '/v1/blobs', bytes })();
      return isLeft(stored) ? stored : decode(Digest, stored.right.ref);
    },
    getBlob: (ref) => transport.bytes({ method: 'GET', path: `/v1/blobs/${ref}` }),
    close: () => {
      transport.close();
      return Promise.resolve();
    },
  };
}

const session = (id: SessionId): string => `/v1/sessions/${encodeURIComponent(id)}`;

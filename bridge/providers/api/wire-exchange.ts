// What one attempt put on the wire and got back, for the record: the digest of its request, and the bytes of its response
// without the key.
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { redactResponse } from '../../secrets/redact-response.ts';
import type { ProviderExchange } from '../provider.ts';
import type { RequestTarget } from './dialect.ts';
import { ENCODERS } from './dialects.ts';
import { digestInSlices, hasInSlices } from './wire-body.ts';

/** An attempt as it goes on. */
export interface WireAttempt {
  readonly api: ModelServerName;
  readonly target: RequestTarget;
  /** The body of the request. */
  readonly body: Buffer;
  /** The parts of the response so far. */
  readonly received: Uint8Array[];
  /** Null while no status line has come. */
  status: number | null;
  headers: Headers | null;
  /** Why the response ended before its end; null when it did not. */
  lost: string | null;
}

/** An attempt that is over, without the key: what a cassette holds of it. */
export interface WireExchange extends Pick<WireAttempt, 'api' | 'target' | 'status' | 'lost'> {
  readonly body: string;
  readonly headers: Pick<Headers, 'get'> | null;
  /** Null when a key came in pieces. */
  readonly response: Buffer | null;
  /** The key was cut out of the response. */
  readonly redacted: boolean;
}

/** What is recorded of an attempt; `exchange` is null when the key stands in the request itself: then not even its digest is kept. */
export interface Settled {
  /** Made only when it is asked for: the body as text takes long to make. */
  readonly wire: () => WireExchange;
  readonly exchange: ProviderExchange | null;
}

export async function settleExchange(attempt: WireAttempt, keys: Redactor): Promise<Settled> {
  const { api, target, body, status, lost } = attempt;
  const received = Buffer.concat(attempt.received.splice(0));
  const { bytes, redacted } = await redactResponse(received, keys);
  // A server may repeat the key anywhere: in the address of a redirect, for example.
  const headers = attempt.headers === null ? null : withoutKeys(attempt.headers, keys);
  const wire = (): WireExchange => {
    const text = keys.text(body.toString('utf8'));
    return { api, target, body: text, status, headers, lost, response: bytes, redacted };
  };
  if (await hasInSlices(body, keys)) return { wire, exchange: null };
  const { model, baseUrl, stream } = target;
  const exchange = {
    encoder: ENCODERS[api],
    request: await digestInSlices(body),
    target: { model, base_url: baseUrl, stream },
    response: status === null ? null : bytes,
    ...(redacted ? { response_redacted: true as const } : {}),
  };
  return { wire, exchange };
}

function withoutKeys(headers: Headers, keys: Redactor): Pick<Headers, 'get'> {
  return {
    get(name) {
      const value = headers.get(name);
      return value === null ? null : keys.text(value);
    },
  };
}

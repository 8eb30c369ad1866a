// What one attempt put on the wire and got back, for the record: the digest of its request, and the bytes of its response
// without the key.
import { digestText } from '../../../schemas/canonical.ts';
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { redactResponse } from '../../secrets/redact-response.ts';
import type { ProviderExchange } from '../provider.ts';
import type { RequestTarget } from './dialect.ts';
import { ENCODERS } from './dialects.ts';

/** An attempt as it goes on. */
export interface WireAttempt {
  /** The API that was spoken. */
  readonly api: ModelServerName;
  /** Where it was sent. */
  readonly target: RequestTarget;
  /** The body of the request. */
  readonly body: string;
  /** The parts of the response so far. */
  readonly received: Uint8Array[];
  /** Null while no status line has come. */
  status: number | null;
  /** The headers of the response; null while there are none. */
  headers: Headers | null;
  /** Why the response ended before its end; null when it did not. */
  lost: string | null;
}

/** An attempt that is over, without the key: what a cassette holds of it. */
export interface WireExchange extends Pick<WireAttempt, 'api' | 'target' | 'body' | 'status' | 'headers' | 'lost'> {
  /** Null when a key came in pieces. */
  readonly response: Buffer | null;
  /** The key was cut out of the response. */
  readonly redacted: boolean;
}

/** What is recorded of an attempt; `exchange` is null when the key stands in the request itself: then not even its digest is kept. */
export interface Settled {
  readonly wire: WireExchange;
  readonly exchange: ProviderExchange | null;
}

export async function settleExchange(attempt: WireAttempt, keys: Redactor): Promise<Settled> {
  const { api, target, body, status, headers, lost } = attempt;
  const received = Buffer.concat(attempt.received.splice(0));
  const { bytes, redacted } = await redactResponse(received, keys);
  const sent = Buffer.from(body, 'utf8');
  const wire = { api, target, body: keys.text(body), status, headers, lost, response: bytes, redacted };
  if (keys.has(sent)) return { wire, exchange: null };
  const { model, baseUrl, stream } = target;
  const exchange = {
    encoder: ENCODERS[api],
    request: digestText(sent),
    target: { model, base_url: baseUrl, stream },
    response: status === null ? null : bytes,
    ...(redacted ? { response_redacted: true as const } : {}),
  };
  return { wire, exchange };
}

// What one attempt put on the wire and got back, for the record: the digest of its request, and the bytes of its response
// without the key.
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { redactResponse } from '../../secrets/redact-response.ts';
import { redactedText } from '../../secrets/redact-value.ts';
import type { ProviderExchange } from '../provider.ts';
import type { CollectedBytes } from './collected-bytes.ts';
import type { RequestTarget } from './dialect.ts';
import { ENCODERS } from './dialects.ts';
import { hasInSlices } from '../../secrets/has-in-slices.ts';
import { digestInSlices } from './wire-body.ts';

/** An attempt as it goes on. */
export interface WireAttempt {
  /** The API that was spoken. */
  readonly api: ModelServerName;
  /** Where it was sent. */
  readonly target: RequestTarget;
  /** The body of the request. */
  readonly body: Buffer;
  /** The response so far. */
  readonly received: CollectedBytes;
  /** Null while no status line has come. */
  status: number | null;
  /** The headers of the response; null while there are none. */
  headers: Headers | null;
  /** Why the response ended before its end; null when it did not. */
  lost: string | null;
}

/** An attempt that is over, without the key: what a cassette holds of it. */
export interface WireExchange extends Pick<WireAttempt, 'api' | 'target' | 'status' | 'lost'> {
  /** The headers of the response, each value without the key; null when no response came. */
  readonly headers: Pick<Headers, 'get'> | null;
  /** The body of the request as text, without the key. */
  readonly body: string;
  /** Null when a key came in pieces. */
  readonly response: Buffer | null;
  /** The key was cut out of the response. */
  readonly redacted: boolean;
}

/** What is recorded of an attempt; `exchange` is null when the key stands in the request itself: then not even its digest is kept. */
export interface Settled {
  /** Made only when it is asked for: the body as text takes long to make. */
  readonly wire: () => Promise<WireExchange>;
  readonly exchange: ProviderExchange | null;
}

export async function settleExchange(attempt: WireAttempt, keys: Redactor): Promise<Settled> {
  const { api, target, body, status, lost } = attempt;
  const { bytes, redacted } = await redactResponse(attempt.received.take(), keys);
  // A server may repeat the key anywhere: in the address of a redirect, for example.
  const headers = attempt.headers === null ? null : withoutKeys(attempt.headers, keys);
  const wire = async (): Promise<WireExchange> => {
    const text = await redactedText(body.toString('utf8'), keys);
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

// What is recorded of what went over the wire: evidence beside an answer, which never delays or fails it.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import { Exchange } from '../../schemas/model-turn.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { ProviderExchange } from '../providers/provider.ts';
import { redactResponse } from '../secrets/redact-response.ts';
import type { Redactor } from '../secrets/redactor.ts';

/** Which responses are kept: all, none, or those of the last turns of a session. */
export type KeepResponses = 'all' | 'off' | number;

export interface ExchangeOptions {
  readonly redactor: Redactor;
  readonly keepResponses: KeepResponses;
  /** Stores bytes without waiting for the disk. */
  readonly putEvidence: (bytes: Uint8Array) => TaskEither<Rejection, Digest>;
}

/** What was cut out of an answer and its request. */
export interface CutOut {
  /** A secret of the conversation was not sent. */
  readonly request: boolean;
  /** The answer, put together, held a secret. */
  readonly reply: boolean;
}

export interface Exchanged {
  readonly exchange?: Exchange;
}

/** The field of the event that reports the answer; empty when there is nothing to record. */
export async function recordedExchange(
  options: ExchangeOptions,
  exchange: ProviderExchange | null | undefined,
  cut: CutOut,
): Promise<Exchanged> {
  if (exchange === null || exchange === undefined) return {};
  try {
    const { target, encoder, request } = exchange;
    const { model, base_url, stream } = target;
    const { redactor, keepResponses } = options;
    const recorded = {
      encoder,
      request,
      target: { model: redactor.text(model), base_url: redactor.text(base_url), stream },
      ...(cut.request ? { request_redacted: true } : {}),
      ...(keepResponses === 'off' ? {} : await storedResponse(options, exchange, cut)),
    };
    return Exchange.is(recorded) ? { exchange: recorded } : {};
  } catch {
    // A provider is not trusted to follow its type; its answer counts without the evidence.
    return {};
  }
}

async function storedResponse(
  { redactor, keepResponses, putEvidence }: ExchangeOptions,
  { response, response_redacted }: ProviderExchange,
  cut: CutOut,
): Promise<Partial<Exchange>> {
  const wasCut = response_redacted === true;
  const mark = { response_redacted: true };
  if (response === null) return wasCut ? mark : {};
  const { bytes, redacted } = await redactResponse(bufferOf(response), redactor);
  // The answer held a secret that its bytes do not show: it came in pieces.
  if (bytes === null || (cut.reply && !redacted && !wasCut)) return mark;
  const stored = await putEvidence(bytes)();
  if (isLeft(stored)) return {};
  return {
    response: stored.right,
    response_bytes: bytes.length,
    ...(redacted || wasCut ? mark : {}),
    ...(typeof keepResponses === 'number' ? { keep_turns: keepResponses } : {}),
  };
}

/** The same memory. */
const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

// Writes the request of a recorded answer again, from the effect that the log owed and the blobs, and compares its digest with
// the recorded one.
import type { EffectOfKind } from '../../schemas/effect.ts';
import { digestText } from '../../schemas/canonical.ts';
import { COMPACT_REQUESTS_MAX } from '../../schemas/limits.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Exchange } from '../../schemas/model-turn.ts';
import type { BlobReader } from '../engine-link/blob-reader.ts';
import { ENCODERS, apiOfEncoder, loadDialect } from '../providers/api/dialects.ts';
import { messageOf } from '../log.ts';
import type { WireRequest } from '../providers/api/dialect.ts';
import type { GenerateRequest } from '../providers/provider.ts';
import { compactRequest, readConversation } from './compact-request.ts';
import { requestOf } from './generate-runner.ts';

export interface RecordedAnswer {
  /** What the log owed before the answer: a generate, or the compaction before it. */
  readonly effect: EffectOfKind<'llm.compact' | 'llm.generate'>;
  /** Absent when the answer recorded none. */
  readonly exchange?: Exchange;
}

export interface RebuiltRequest {
  readonly comparison: 'equal' | 'different' | 'not_comparable';
  /** Why it is not comparable, or cannot be written; null otherwise. */
  readonly why: string | null;
  /** The encoder that wrote it now; null when it could not be written. */
  readonly encoder: string | null;
  readonly recorded: Digest | null;
  readonly rebuilt: Digest | null;
  /** Below the base URL, and the body; null when it could not be written. */
  readonly path: string | null;
  readonly body: string | null;
}

/** Rejects when a page of the conversation cannot be read. */
export async function rebuildRequest(
  { effect, exchange }: RecordedAnswer,
  blobs: Pick<BlobReader, 'read'>,
): Promise<RebuiltRequest> {
  const recorded = exchange?.request ?? null;
  const nothing = { encoder: null, recorded, rebuilt: null, path: null, body: null };
  const incomparable = (why: string): RebuiltRequest => ({ ...nothing, comparison: 'not_comparable', why });
  if (exchange === undefined) return incomparable('the answer records no exchange, so that its API is not known');
  const api = apiOfEncoder(exchange.encoder);
  if (api === null || exchange.target === undefined) {
    const what = api === null ? `the encoder ${exchange.encoder} is not known to` : 'no target is recorded for';
    return incomparable(`${what} this version of refold`);
  }
  const reader = counting(blobs);
  const requests = await requestsOf(effect, reader);
  const dialect = await loadDialect(api);
  const { model, base_url: baseUrl, stream } = exchange.target;
  let wire: WireRequest | null = null;
  try {
    for (const request of requests) {
      const written = dialect.encode(request, { model, baseUrl, stream });
      wire ??= written;
      if (digestText(written.body) === recorded) wire = written;
    }
  } catch (error) {
    const why = `it cannot be written: ${messageOf(error)}`;
    return ENCODERS[api] === exchange.encoder ? { ...nothing, comparison: 'different', why } : incomparable(why);
  }
  if (wire === null) throw new TypeError('an effect has at least one request');
  const rebuilt = digestText(wire.body);
  const why = rebuilt === recorded ? null : whyNotComparable(exchange, ENCODERS[api], reader.missing());
  return {
    comparison: rebuilt === recorded ? 'equal' : why === null ? 'different' : 'not_comparable',
    why,
    encoder: ENCODERS[api],
    recorded,
    rebuilt,
    path: wire.path,
    body: wire.body,
  };
}

/** What the effect may have sent: a compaction asks again with shorter texts, and its answer does not say which request it answers. */
async function requestsOf(
  effect: RecordedAnswer['effect'],
  reader: Pick<BlobReader, 'read'>,
): Promise<readonly GenerateRequest[]> {
  const blobs = { ...reader, kept: () => null };
  if (effect.kind === 'llm.generate') return [await requestOf(effect, { blobs })];
  const conversation = await readConversation(effect, blobs);
  return Array.from({ length: COMPACT_REQUESTS_MAX }, (_, index) => compactRequest(effect, conversation, index + 1));
}

/** Why digests that differ prove nothing; null when they do. */
function whyNotComparable({ encoder, request_redacted }: Exchange, now: string, missing: number): string | null {
  if (encoder !== now) return `it was written by ${encoder}, and this version of refold has ${now}`;
  if (request_redacted === true) {
    return 'a secret was cut out of the conversation before it was sent, and only that bridge knew which';
  }
  return missing === 0 ? null : `${missing} of the blobs that it was made of cannot be read now: refold verify`;
}

/** Counts the blobs that cannot be read: excerpts stand in their place. */
function counting({ read }: Pick<BlobReader, 'read'>): Pick<BlobReader, 'read'> & { missing(): number } {
  let missing = 0;
  return {
    missing: () => missing,
    async read(ref, signal) {
      const answer = await read(ref, signal);
      if (answer._tag === 'Left') missing += 1;
      return answer;
    },
  };
}

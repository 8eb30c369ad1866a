// Gemini's generateContent, of ai.google.dev and Vertex AI, as a dialect.
import type { Dialect } from '../api/dialect.ts';
import type { ExactJson } from '../api/exact-json.ts';
import { ProviderError } from '../provider.ts';
import { errorOf } from './failure.ts';
import { GEMINI, readReply } from './reply.ts';
import { encodeRequest } from './request.ts';
import { foldList, newGeminiFold } from './stream.ts';

export const gemini: Dialect = {
  api: GEMINI,
  framing: 'sse',
  encode: encodeRequest,
  newFold: newGeminiFold,
  *read(final) {
    if (!Array.isArray(final)) return yield* readReply(final);
    // Without `alt=sse`, and from some servers with it, a stream is one list of its events.
    const folded = yield* foldList(final as readonly ExactJson[]);
    if (folded === null) {
      throw new ProviderError(
        'provider_retryable',
        'the answer ended before it was complete: no event has a finishReason',
      );
    }
    return yield* readReply(folded);
  },
  errorOf,
};

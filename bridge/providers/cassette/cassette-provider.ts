// A model on a cassette: each request is compared with those recorded, and the recorded response goes through the same
// decoder as it did from the server.
import { cassetteHeadOf } from '../../../src/files/cassette.ts';
import { type ApiProviderOptions, apiProvider } from '../api/api-provider.ts';
import { type Provider, ProviderError } from '../provider.ts';
import { firstDifference } from './difference.ts';
import { type RecordedExchange, readCassette } from './line.ts';

/** Throws an Error that names the invalid line. */
export function cassetteProvider(jsonLines: string, { clock }: Pick<ApiProviderOptions, 'clock'>): Provider {
  const head = cassetteHeadOf(jsonLines);
  const unused = [...readCassette(jsonLines)];
  if (head === null) throw new Error('cassette, line 1: it does not name its API, base URL and model');
  const { api, base_url: baseUrl, model: fallbackModel } = head;
  const transport: NonNullable<ApiProviderOptions['transport']> = (_url, { body }) => {
    // A bridge that was restarted, and sessions side by side, ask in another order.
    const at = unused.findIndex(({ request }) => firstDifference(request, body) === null);
    if (at === -1) return Promise.reject(noSuchExchange(unused[0], body));
    const [found] = unused.splice(at, 1);
    return Promise.resolve(responseOf(found as RecordedExchange));
  };
  return apiProvider({ api, baseUrl, fallbackModel, clock, transport });
}

function noSuchExchange(next: RecordedExchange | undefined, body: string): ProviderError {
  if (next === undefined) {
    return new ProviderError('recording_exhausted', 'the cassette has no further exchange; record it again');
  }
  const { path = '', recorded = '', sent = '' } = firstDifference(next.request, body) ?? {};
  const message = `the request differs from line ${next.number} of the cassette at "${path}": recorded ${recorded}, now ${sent}`;
  return new ProviderError('recording_differs', message);
}

function responseOf({ number, status, headers, response, response_base64, lost }: RecordedExchange): Response {
  if (status === null) throw new TypeError('fetch failed', { cause: new Error(lost ?? 'no answer was recorded') });
  const bytes = response === undefined ? response_base64 : undefined;
  if (response === undefined && bytes === undefined) {
    const message = `the response on line ${number} of the cassette held a secret in pieces, and was not recorded`;
    throw new ProviderError('recording_exhausted', message);
  }
  const body = Buffer.from(bytes ?? response ?? '', bytes === undefined ? 'utf8' : 'base64');
  // Some statuses allow no body.
  const stream = body.length === 0 && lost === undefined ? null : streamOf(body, lost);
  return new Response(stream, { status, headers: headers as Readonly<Record<string, string>> });
}

/** The bytes, and then the end of the connection: a fault when it was lost. */
const streamOf = (body: Buffer, lost: string | undefined): ReadableStream<Uint8Array> => {
  const parts = body.length === 0 ? [] : [new Uint8Array(body)];
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part !== undefined) controller.enqueue(part);
      else if (lost === undefined) controller.close();
      else controller.error(new TypeError('terminated', { cause: new Error(lost) }));
    },
  });
};

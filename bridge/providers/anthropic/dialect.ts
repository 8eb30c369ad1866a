// The Messages API of Anthropic, of Vertex AI and of the servers that speak the same format.
import { exactText } from '../api/exact-json.ts';
import type { Dialect, RequestTarget } from '../api/dialect.ts';
import { messagesError } from './failure.ts';
import { readMessage } from './reply.ts';
import { messagesBody } from './request.ts';
import { newMessageFold } from './stream.ts';

const reading = {
  api: 'anthropic.messages',
  framing: 'sse',
  newFold: newMessageFold,
  read: readMessage,
  errorOf: messagesError,
} as const;

/** The base URL is that of the host, with or without `/v1`. */
export const anthropicMessages: Dialect = {
  ...reading,
  encode: (request, target) => ({
    path: /\/v[0-9]+\/*$/.test(target.baseUrl) ? '/messages' : '/v1/messages',
    headers: { 'anthropic-version': '2023-06-01' },
    body: exactText({ model: target.model, ...messagesBody(request, target.model), ...streamed(target) }),
  }),
};

/** The base URL ends with `/v1/projects/PROJECT/locations/LOCATION`; the path names the model, the body does not. */
export const vertexAnthropic: Dialect = {
  ...reading,
  encode: (request, target) => ({
    path: `/publishers/anthropic/models/${pathName(target.model)}:${target.stream ? 'streamRawPredict' : 'rawPredict'}`,
    headers: {},
    body: exactText({
      anthropic_version: 'vertex-2023-10-16',
      ...messagesBody(request, target.model),
      ...streamed(target),
    }),
  }),
};

const streamed = ({ stream }: RequestTarget) => (stream ? { stream } : {});

/** Versions of models follow an `@`. */
const pathName = (model: string): string => encodeURIComponent(model).replaceAll('%40', '@');

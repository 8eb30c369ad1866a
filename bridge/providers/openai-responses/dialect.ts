// The Responses API of OpenAI, Azure and compatible servers, without anything stored on the server: the whole conversation
// goes with every request, and reasoning comes back encrypted.
import type { Dialect } from '../api/dialect.ts';
import { responsesError } from './error.ts';
import { readResponse } from './reply.ts';
import { encodeResponsesRequest } from './request.ts';
import { newResponseFold } from './stream.ts';

export const openAiResponses: Dialect = {
  api: 'openai.responses',
  framing: 'sse',
  encode: encodeResponsesRequest,
  newFold: newResponseFold,
  read: readResponse,
  errorOf: responsesError,
};

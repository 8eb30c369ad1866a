// Chat Completions, as OpenAI and many other servers offer it.
import type { Dialect } from '../api/dialect.ts';
import { chatError } from './errors.ts';
import { readCompletion } from './reply.ts';
import { chatRequest } from './request.ts';
import { newChatFold } from './stream.ts';

export const openAiChat: Dialect = {
  api: 'openai.chat',
  framing: 'sse',
  encode: chatRequest,
  newFold: newChatFold,
  read: readCompletion,
  errorOf: chatError,
};

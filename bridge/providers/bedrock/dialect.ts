// Bedrock's Converse API, with an API key as bearer token.
import type { Dialect } from '../api/dialect.ts';
import { converseFault } from './errors.ts';
import { readConverse } from './reply.ts';
import { encodeConverse } from './request.ts';
import { newConverseFold } from './stream.ts';

export const bedrockConverse: Dialect = {
  api: 'bedrock.converse',
  framing: 'aws',
  encode: encodeConverse,
  newFold: newConverseFold,
  read: readConverse,
  errorOf: converseFault,
};

// The samples of every API, by name.
import { messagesSample, vertexSample } from '../anthropic/sample.ts';
import { converseSample } from '../bedrock/sample.ts';
import type { ApiSample } from '../contract.ts';
import { generateContentSample } from '../gemini/sample.ts';
import { chatSample } from '../openai-chat/sample.ts';
import { responsesSample } from '../openai-responses/sample.ts';

export const EVERY_API: readonly ApiSample[] = [
  chatSample,
  responsesSample,
  messagesSample,
  vertexSample,
  generateContentSample,
  converseSample,
];

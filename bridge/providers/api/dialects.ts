// Loads a dialect when it is used.
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import type { Dialect } from './dialect.ts';

const LOADERS: Readonly<Record<ModelServerName, () => Promise<Dialect>>> = {
  'openai-chat': async () => (await import('../openai-chat/dialect.ts')).openAiChat,
  'openai-responses': async () => (await import('../openai-responses/dialect.ts')).openAiResponses,
  anthropic: async () => (await import('../anthropic/dialect.ts')).anthropicMessages,
  'vertex-anthropic': async () => (await import('../anthropic/dialect.ts')).vertexAnthropic,
  gemini: async () => (await import('../gemini/dialect.ts')).gemini,
  bedrock: async () => (await import('../bedrock/dialect.ts')).bedrockConverse,
};

export const loadDialect = (name: ModelServerName): Promise<Dialect> => LOADERS[name]();

// Loads a dialect when it is used, and names the encoders.
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

/**
 * The name and version of what writes the requests of each API: recorded with every answer, so that a request is compared
 * only with one of the same version. Raise the version when the same request gives other bytes.
 */
export const ENCODERS: Readonly<Record<ModelServerName, string>> = {
  'openai-chat': 'openai.chat/1',
  'openai-responses': 'openai.responses/1',
  anthropic: 'anthropic.messages/1',
  'vertex-anthropic': 'vertex.anthropic/1',
  gemini: 'gemini.generate_content/1',
  bedrock: 'bedrock.converse/1',
};

/** The API whose requests this encoder writes, in any version; null when it is not known. */
export function apiOfEncoder(encoder: string): ModelServerName | null {
  const nameOf = (text: string): string => text.split('/', 1)[0] ?? '';
  const found = Object.entries(ENCODERS).find(([, known]) => nameOf(known) === nameOf(encoder));
  return found === undefined ? null : (found[0] as ModelServerName);
}

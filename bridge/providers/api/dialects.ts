// Loads a dialect when it is used.
import type { ModelServerName } from '../../../src/files/model-servers.ts';
import { ProviderError } from '../provider.ts';
import type { Dialect } from './dialect.ts';

const LOADERS: { readonly [name in ModelServerName]?: () => Promise<Dialect> } = {
  bedrock: async () => (await import('../bedrock/dialect.ts')).bedrockConverse,
  'openai-chat': async () => (await import('../openai-chat/dialect.ts')).openAiChat,
};

export async function loadDialect(name: ModelServerName): Promise<Dialect> {
  const load = LOADERS[name];
  if (load === undefined) throw new ProviderError('provider_terminal', `this build does not speak the API ${name}`);
  return await load();
}

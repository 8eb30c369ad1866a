// The kinds of model servers by the names that people give (`--api NAME`), and what is assumed about each.

interface ModelServer {
  /** Without a final slash; null when it must be given. */
  readonly baseUrl: string | null;
  /** The variable of the environment that may hold another one. */
  readonly baseUrlVariable: string;
  /** The variables of the environment that may hold the key; the first that is set counts. */
  readonly keyVariables: readonly string[];
  /** The environment variable that names the model. */
  readonly modelVariable: string;
  /** The model to ask when none is named; null when one must be named. */
  readonly model: string | null;
  /** The `provider` of a run's config, which decides the default profile. */
  readonly provider: string;
}

const SERVERS = {
  'openai-chat': {
    baseUrl: 'https://api.openai.com/v1',
    baseUrlVariable: 'OPENAI_BASE_URL',
    keyVariables: ['OPENAI_API_KEY'],
    modelVariable: 'OPENAI_MODEL',
    model: 'gpt-5-mini',
    provider: 'openai',
  },
  'openai-responses': {
    baseUrl: 'https://api.openai.com/v1',
    baseUrlVariable: 'OPENAI_BASE_URL',
    keyVariables: ['OPENAI_API_KEY'],
    modelVariable: 'OPENAI_MODEL',
    model: 'gpt-5-mini',
    provider: 'openai',
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com',
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
    keyVariables: ['ANTHROPIC_API_KEY'],
    modelVariable: 'ANTHROPIC_MODEL',
    model: null,
    provider: 'anthropic',
  },
  'vertex-anthropic': {
    baseUrl: null,
    baseUrlVariable: 'ANTHROPIC_VERTEX_BASE_URL',
    keyVariables: ['VERTEX_ACCESS_TOKEN'],
    modelVariable: 'ANTHROPIC_MODEL',
    model: null,
    provider: 'anthropic',
  },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    baseUrlVariable: 'GEMINI_BASE_URL',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    modelVariable: 'GEMINI_MODEL',
    model: null,
    provider: 'gemini',
  },
  bedrock: {
    baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    baseUrlVariable: 'BEDROCK_BASE_URL',
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
    modelVariable: 'BEDROCK_MODEL',
    model: null,
    provider: 'bedrock',
  },
} as const satisfies Readonly<Record<string, ModelServer>>;

export type ModelServerName = keyof typeof SERVERS;
export const MODEL_SERVERS: Readonly<Record<ModelServerName, ModelServer>> = SERVERS;
export const MODEL_SERVER_NAMES = Object.keys(SERVERS) as readonly ModelServerName[];

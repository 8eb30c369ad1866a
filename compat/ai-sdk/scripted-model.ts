// A language model of the SDK that answers from a script. `REFOLD_COMPAT_AI` is the specification of the SDK that runs here.
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider';

export interface ScriptedAnswer {
  readonly text?: string;
  /** The name of a tool and the number of an order. */
  readonly calls?: readonly (readonly [name: string, order: string])[];
  /** The stream ends before the answer is complete. */
  readonly cut?: boolean;
}

/** `turn` counts the answers in the prompt, from 1. It may throw. */
export type Script = (turn: number, asked: LanguageModelV3CallOptions) => ScriptedAnswer | Promise<ScriptedAnswer>;

const VERSION = (process.env['REFOLD_COMPAT_AI'] ?? 'v3') as 'v3';
const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const response = { id: 'answer-1', timestamp: new Date(1_700_000_000_000), modelId: 'scripted-1' };

export function scriptedModel(script: Script): LanguageModelV3 {
  const answerTo = (asked: LanguageModelV3CallOptions) =>
    script(asked.prompt.filter(({ role }) => role === 'assistant').length + 1, asked);
  return {
    specificationVersion: VERSION,
    provider: 'scripted',
    modelId: 'scripted-1',
    supportedUrls: {},
    async doGenerate(asked) {
      const { text, calls = [] } = await answerTo(asked);
      const texts = text === undefined ? [] : [{ type: 'text' as const, text }];
      return {
        content: [...texts, ...calls.map(callOf)],
        finishReason: finishOf(calls.length),
        usage,
        warnings: [],
        response,
      };
    },
    async doStream(asked) {
      const { text = '', calls = [], cut = false } = await answerTo(asked);
      const parts: LanguageModelV3StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', ...response },
        ...(text === '' ? [] : [{ type: 'text-start' as const, id: 't' }]),
        ...(text.match(/.{1,3}/gs) ?? []).map((delta) => ({ type: 'text-delta' as const, id: 't', delta })),
        ...(text === '' ? [] : [{ type: 'text-end' as const, id: 't' }]),
        ...calls.map(callOf),
        ...(cut ? [] : [{ type: 'finish' as const, finishReason: finishOf(calls.length), usage }]),
      ];
      return { stream: ReadableStream.from<LanguageModelV3StreamPart>(parts) };
    },
  };
}

const callOf = ([toolName, order]: readonly [string, string]) => ({
  type: 'tool-call' as const,
  toolCallId: `${toolName}-${order}`,
  toolName,
  input: JSON.stringify({ order }),
});

const finishOf = (calls: number) => ({
  unified: calls === 0 ? ('stop' as const) : ('tool-calls' as const),
  raw: undefined,
});

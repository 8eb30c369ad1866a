// Any language model of the AI SDK as a provider of refold's bridge.
import {
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type Provider,
  ProviderError,
  type ProviderErrorCode,
} from '../../bridge/index.ts';
import type { ToolChoice } from '../../schemas/index.ts';
import { answerOf, turnReplyOf } from './answer-parts.ts';
import { type AiSdkModel, type ContentPart, type ModelMessage, checkModel } from './model-types.ts';
import { type StreamPart, newArrivingAnswer } from './stream-parts.ts';

const API = 'ai_sdk.language_model';

/**
 * A provider that asks this model, for `createAgent({ model: fromAiSdk(model), … })` and for `runBridge`. Reasoning, signatures
 * and files of a turn go back to the same model as they came. Throws a TypeError for what is no model object of v3 or v4.
 */
export function fromAiSdk(given: AiSdkModel): Provider {
  const model = checkModel(given);
  return {
    async generate(request, signal, onDelta = () => undefined) {
      const arriving = newArrivingAnswer(onDelta);
      try {
        const call = { ...callOf(request, model.modelId), abortSignal: signal };
        const { stream } = (await model.doStream(call)) as { readonly stream: ReadableStream<StreamPart> };
        for await (const part of stream) arriving.add(part);
        return providerReply(turnReplyOf(arriving.whole()), model.modelId);
      } catch (error) {
        throw providerError(error, signal);
      }
    },
  };
}

const providerReply = ({ parts, ...reply }: ReturnType<typeof turnReplyOf>, modelId: string): GenerateReply => ({
  ...reply,
  layout: { api: API, model: modelId.slice(0, 128), parts },
});

function callOf(request: GenerateRequest, modelId: string) {
  const { instructions, messages, tools, tool_choice, temperature, output_tokens_max } = request;
  const system = instructions === null ? [] : [{ role: 'system', content: instructions }];
  return {
    prompt: [...system, ...promptOf(messages, modelId)],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ tool_name, description, input_schema }) => ({
            type: 'function',
            name: tool_name,
            description,
            inputSchema: input_schema,
          })),
        }),
    ...(tools.length === 0 || tool_choice === undefined || tool_choice === null
      ? {}
      : { toolChoice: choiceOf(tool_choice) }),
    ...(temperature === undefined || temperature === null ? {} : { temperature }),
    ...(output_tokens_max === null ? {} : { maxOutputTokens: output_tokens_max }),
  };
}

const choiceOf = (choice: ToolChoice) =>
  typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };

/** The results that follow one another are one message. */
function promptOf(messages: readonly Message[], modelId: string): readonly ModelMessage[] {
  const prompt: { role: string; content: ContentPart[] }[] = [];
  for (const message of messages) {
    const content = partsOf(message, modelId);
    const last = prompt.at(-1);
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(...content);
    else prompt.push({ role: message.role, content });
  }
  return prompt;
}

function partsOf(message: Message, modelId: string): ContentPart[] {
  if (message.role === 'tool') {
    const { call_id, name, text, is_error } = message;
    const output = { type: is_error ? 'error-text' : 'text', value: text };
    return [{ type: 'tool-result', toolCallId: call_id, toolName: name, output }];
  }
  if (message.role === 'user') {
    const files = (message.attachments ?? []).map(({ media_type, name, bytes }) => ({
      type: 'file',
      mediaType: media_type,
      data: bytes,
      ...(name === undefined ? {} : { filename: name }),
    }));
    return [{ type: 'text', text: message.text }, ...files];
  }
  const { text, calls, layout } = message;
  const parts = fitting(layout, modelId) ?? [
    ...(text === '' ? [] : [{ text: text.length }]),
    ...calls.map((_, call) => ({ call })),
  ];
  const named = calls.map((call) => ({ ...call, provider_id: call.provider_id ?? call.id }));
  const turn = { turn: 0, content: text, calls: named, parts, usage: null, stop: null, replayed: true };
  return answerOf(turn).content.flatMap(sentBack);
}

type Layout = NonNullable<Extract<Message, { readonly role: 'assistant' }>['layout']>;

const fitting = (layout: Layout | undefined, modelId: string): Layout['parts'] | null =>
  layout?.api === API && layout.model === modelId.slice(0, 128) ? layout.parts : null;

/** A part of an answer as a part of a prompt: sources are for people, and calls have their arguments as a value. */
function sentBack({ providerMetadata, ...part }: ContentPart): readonly ContentPart[] {
  if (part.type === 'source' || part.type === 'tool-approval-request') return [];
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  if (part.type !== 'tool-call') {
    const { result, ...rest } = part as ContentPart;
    const output = result === undefined ? {} : { output: { type: 'json', value: result } };
    return [{ ...rest, ...output, ...options }];
  }
  return [{ ...part, input: valueOf((part as ContentPart)['input']), ...options }];
}

function valueOf(input: unknown): unknown {
  try {
    return JSON.parse(String(input)) as unknown;
  } catch {
    return {};
  }
}

/** What the errors of the SDK's providers have in common. */
interface CallError {
  readonly message?: string;
  readonly statusCode?: number;
  readonly isRetryable?: boolean;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

function providerError(error: unknown, signal: AbortSignal): ProviderError {
  const { message = String(error), statusCode, isRetryable, responseHeaders } = (error ?? {}) as CallError;
  if (signal.aborted) return new ProviderError('cancelled', message);
  const seconds = Number(responseHeaders?.['retry-after'] ?? Number.NaN);
  const code = isRetryable === true ? 'provider_retryable' : (CODES[statusCode ?? 0] ?? codeFor(error));
  return new ProviderError(code, message, Number.isFinite(seconds) ? seconds * 1_000 : null);
}

const CODES: Readonly<Record<number, ProviderErrorCode>> = {
  400: 'invalid_request',
  401: 'provider_auth',
  402: 'provider_quota',
  403: 'provider_auth',
  404: 'invalid_request',
  429: 'provider_retryable',
};

/** A stream that was cut off, and a connection that failed, may work the next time. */
const codeFor = (error: unknown): ProviderErrorCode =>
  /^fetch failed|^terminated|ended before its answer/.test((error as Error | null)?.message ?? '')
    ? 'provider_retryable'
    : 'provider_terminal';

// The answer of a model as the record keeps it, and back: its text and calls are read by the engine, everything else travels
// with them in its place.
import type { ReplyCall } from '../../bridge/index.ts';
import type { Json, LayoutPart, Stop, Usage } from '../../schemas/index.ts';
import type { RecordedTurn, TurnReply } from '../durable/turn.ts';
import { countedUsage } from '../durable/usage.ts';
import type { ContentPart, ModelAnswer, ModelUsage } from './model-types.ts';
import { storedValue, valueOfStored } from './stored-value.ts';

/** What is recorded of an answer beside its content. */
interface AnswerItem extends Omit<ModelAnswer, 'content' | 'response'> {
  readonly refold: 'answer';
  readonly response?: { readonly id?: string; readonly timestamp?: string; readonly modelId?: string };
}

export function turnReplyOf(answer: ModelAnswer): TurnReply {
  const calls: ReplyCall[] = [];
  const texts: string[] = [];
  const parts = answer.content.map((part): LayoutPart => {
    const { type, ...fields } = part;
    if (type === 'text') {
      const { text, ...rest } = fields;
      texts.push(String(text).toWellFormed());
      return { text: texts.at(-1)?.length ?? 0, ...further(rest) };
    }
    if (type !== 'tool-call' || fields['providerExecuted'] === true) return itemOf(part);
    const { toolCallId, toolName, input, ...rest } = fields;
    const written = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    calls.push({
      id: String(toolCallId),
      name: String(toolName),
      arguments_text: written.trim() === '' ? '{}' : written,
    });
    return { call: calls.length - 1, ...further(rest) };
  });
  const { finishReason, usage, providerMetadata, warnings, response } = answer;
  const { id, timestamp, modelId } = response ?? {};
  const item = {
    refold: 'answer',
    finishReason,
    usage,
    providerMetadata,
    warnings,
    response: { id, timestamp, modelId },
  };
  return {
    content: texts.join(''),
    calls,
    parts: [...parts, itemOf(item)],
    ...countedIn(usage),
    stop: stopOf(finishReason.unified, finishReason.raw),
  };
}

const itemOf = (value: object): LayoutPart => ({ item: JSON.stringify(storedValue(value)) });

function further(fields: object): { readonly with?: string } {
  const stored = storedValue(fields) as Record<string, Json>;
  return Object.keys(stored).length === 0 ? {} : { with: JSON.stringify(stored) };
}

export function answerOf(turn: RecordedTurn): ModelAnswer {
  const { content, answer } = readAnswer(turn);
  const { usage, stop } = turn;
  return {
    content,
    finishReason: answer.finishReason ?? { unified: UNIFIED[stop?.reason ?? 'other'], raw: stop?.word },
    usage: fullUsage(answer.usage, usage),
    warnings: answer.warnings ?? [],
    response: responseOf(answer),
    ...(answer.providerMetadata === undefined ? {} : { providerMetadata: answer.providerMetadata }),
  };
}

/** The content, and what else is recorded of the answer: empty when the record has none of it. */
function readAnswer({ content, calls, parts }: RecordedTurn): {
  readonly content: readonly ContentPart[];
  readonly answer: Partial<AnswerItem>;
} {
  let at = 0;
  let answer: Partial<AnswerItem> = {};
  const made: ContentPart[] = [];
  for (const part of parts) {
    if ('item' in part) {
      const value = parsed(part.item) as ContentPart | AnswerItem;
      if ('refold' in value) answer = value as AnswerItem;
      else made.push(value);
    } else if ('text' in part) {
      made.push({ type: 'text', text: content.slice(at, at + part.text), ...fieldsOf(part.with) });
      at += part.text;
    } else {
      const { id, name, arguments: input } = calls[part.call] as RecordedTurn['calls'][number];
      made.push({ type: 'tool-call', toolCallId: id, toolName: name, input, ...fieldsOf(part.with) });
    }
  }
  return { content: made, answer };
}

const parsed = (stored: string): unknown => valueOfStored(JSON.parse(stored) as Json);

const fieldsOf = (stored: string | undefined): object => (stored === undefined ? {} : (parsed(stored) as object));

function responseOf({ response = {} }: Partial<AnswerItem>): NonNullable<ModelAnswer['response']> {
  const { timestamp, ...rest } = response;
  return { ...rest, ...(timestamp === undefined ? {} : { timestamp: new Date(timestamp) }) };
}

const UNIFIED: Readonly<Record<Stop['reason'], string>> = {
  end: 'stop',
  calls: 'tool-calls',
  length: 'length',
  filtered: 'content-filter',
  refusal: 'content-filter',
  paused: 'other',
  other: 'other',
};

const REASONS: Readonly<Record<string, Stop['reason']>> = {
  stop: 'end',
  'tool-calls': 'calls',
  length: 'length',
  'content-filter': 'filtered',
};

function stopOf(unified: string, raw: string | undefined): Stop {
  const reason = REASONS[unified] ?? 'other';
  return raw === undefined ? { reason } : { reason, word: raw.toWellFormed().slice(0, 64).toWellFormed() };
}

/** The specification has the fields; a model of another's hand may not. */
function countedIn(given: Partial<ModelUsage> | null | undefined): Pick<TurnReply, 'usage'> {
  const { inputTokens, outputTokens } = given ?? {};
  return countedUsage({
    input_tokens: inputTokens?.total,
    output_tokens: outputTokens?.total,
    cached_tokens: inputTokens?.cacheRead,
    cache_write_tokens: inputTokens?.cacheWrite,
    reasoning_tokens: outputTokens?.reasoning,
  });
}

/** The SDK reads these fields; they are there even when the model counted nothing. */
const fullUsage = (recorded: ModelUsage | undefined, usage: Usage | null): ModelUsage => ({
  ...recorded,
  inputTokens: {
    total: usage?.input_tokens,
    noCache: undefined,
    cacheRead: usage?.cached_tokens,
    cacheWrite: usage?.cache_write_tokens,
    ...recorded?.inputTokens,
  } as ModelUsage['inputTokens'],
  outputTokens: {
    total: usage?.output_tokens,
    text: undefined,
    reasoning: usage?.reasoning_tokens,
    ...recorded?.outputTokens,
  } as ModelUsage['outputTokens'],
});

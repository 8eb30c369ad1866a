// Answers of a chat model as the record keeps them: their texts and calls, and what only the framework reads.
import type { Json, JsonObject, LayoutPart } from '../../schemas/index.ts';
import type { RecordedCall, RecordedTurn, TurnReply } from '../durable/turn.ts';
import { countedUsage } from '../durable/usage.ts';
import type { GraphAnswer, GraphCall } from './sdk.ts';

/** The fields of a message that a recorded answer keeps beside its content and its calls. */
const KEPT = ['id', 'name', 'additional_kwargs', 'response_metadata', 'usage_metadata', 'invalid_tool_calls'] as const;

type Block = Readonly<Record<string, unknown>>;

export function graphReply(answer: GraphAnswer): TurnReply {
  const { content, tool_calls = [], usage_metadata } = answer;
  const fields = Object.fromEntries(KEPT.map((name) => [name, (answer as unknown as Block)[name]]));
  const isList = Array.isArray(content);
  const blocks: readonly unknown[] = isList ? (content as readonly unknown[]) : [content];
  let text = '';
  const parts: LayoutPart[] = [{ item: JSON.stringify({ message: fields, list: isList }) }];
  for (const block of blocks) {
    const { text: written, ...rest } = typeof block === 'string' ? { text: block } : (block as Block);
    if (typeof written === 'string' && (typeof block === 'string' || rest['type'] === 'text')) {
      text += written;
      parts.push({ text: written.length, ...(Object.keys(rest).length === 0 ? {} : { with: JSON.stringify(rest) }) });
    } else {
      parts.push({ item: JSON.stringify({ block }) });
    }
  }
  return {
    content: text,
    calls: tool_calls.map(({ id, name, args }) => ({
      ...(id === undefined ? {} : { id }),
      name,
      arguments: JSON.parse(JSON.stringify(args)) as Json,
    })),
    parts: [...parts, ...tool_calls.map((_, call) => ({ call }))],
    ...countedUsage({ input_tokens: usage_metadata?.input_tokens, output_tokens: usage_metadata?.output_tokens }),
    stop: { reason: tool_calls.length > 0 ? 'calls' : 'end' },
  };
}

/** A recorded answer: an object that the state of a graph takes for a message of the model. */
export interface AnswerMessage extends GraphAnswer {
  readonly type: 'ai';
  /** The calls of the answer, in order; empty when it made none. */
  readonly tool_calls: readonly (GraphCall & { readonly type: 'tool_call' })[];
}

/** The recorded answer. What was lost with a secret is left out. */
export function graphAnswer({ content, calls, parts }: RecordedTurn): AnswerMessage {
  const blocks: unknown[] = [];
  let kept: { readonly message?: object; readonly list?: boolean } = {};
  let at = 0;
  for (const part of parts) {
    if ('text' in part) {
      const text = content.slice(at, at + part.text);
      at += part.text;
      blocks.push(part.with === undefined ? text : { ...(JSON.parse(part.with) as JsonObject), text });
    } else if ('item' in part) {
      const item = JSON.parse(part.item) as { readonly block?: unknown; readonly message?: object };
      if (item.block !== undefined) blocks.push(item.block);
      else if (item.message !== undefined) kept = item;
    }
  }
  return {
    ...kept.message,
    type: 'ai',
    content: kept.list === true ? blocks : blocks.join(''),
    tool_calls: graphCalls(calls),
  };
}

/** Recorded calls, as a message has them. */
export const graphCalls = (calls: readonly RecordedCall[]): AnswerMessage['tool_calls'] =>
  calls.map(({ id, name, arguments: written }) => ({ type: 'tool_call', id, name, args: argumentsOf(written) }));

function argumentsOf(written: string): object {
  try {
    return JSON.parse(written) as object;
  } catch {
    return {};
  }
}

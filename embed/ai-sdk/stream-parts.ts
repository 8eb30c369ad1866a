// Streams of a model: read into a whole answer, and made of a recorded one.
import type { ReplyDelta } from '../../bridge/index.ts';
import { completeAnswer } from './complete-answer.ts';
import type { ContentPart, FinishReason, ModelAnswer, ModelUsage } from './model-types.ts';

/** A part of a stream. */
export type StreamPart = ContentPart;

/** What has arrived of an answer. */
export interface ArrivingAnswer {
  readonly add: (part: StreamPart) => void;
  /** The whole answer; throws when the stream ended before it was complete. */
  readonly whole: () => ModelAnswer;
}

type Open = { -readonly [Field in keyof ContentPart]: ContentPart[Field] };

export function newArrivingAnswer(onDelta: (delta: ReplyDelta) => void): ArrivingAnswer {
  const content: Open[] = [];
  const blocks = new Map<string, Open>();
  let warnings: readonly unknown[] = [];
  let response: Record<string, unknown> = {};
  let finish: StreamPart | null = null;

  function addToBlock(kind: 'text' | 'reasoning', part: StreamPart): void {
    const { type, id, delta, providerMetadata, citations } = part;
    const name = `${kind} ${String(id)}`;
    let block = blocks.get(name);
    if (block === undefined || type.endsWith('-start')) {
      block = { type: kind, text: '' };
      blocks.set(name, block);
      content.push(block);
    }
    if (typeof delta === 'string') {
      block['text'] = `${String(block['text'])}${delta}`;
      onDelta({ kind: kind === 'text' ? 'text' : 'thinking', text: delta });
    }
    if (providerMetadata !== undefined) block['providerMetadata'] = providerMetadata;
    if (citations !== undefined) block['citations'] = citations;
  }

  return {
    add(part) {
      const { type } = part;
      if (/^text-(start|delta|end)$/.test(type)) addToBlock('text', part);
      else if (/^reasoning-(start|delta|end)$/.test(type)) addToBlock('reasoning', part);
      else if (type === 'stream-start') warnings = part['warnings'] as readonly unknown[];
      else if (type === 'response-metadata') {
        const { type: _type, ...metadata } = part;
        response = { ...response, ...metadata };
      } else if (type === 'finish') finish = part;
      else if (type === 'error') throw part['error'];
      else if (!PASSING.has(type)) content.push({ ...part });
    },
    whole() {
      if (finish === null) throw new Error('the stream of the model ended before its answer was complete');
      const { finishReason, usage, providerMetadata } = finish;
      return completeAnswer({
        content,
        finishReason: finishReason as FinishReason,
        usage: usage as ModelUsage,
        warnings,
        response,
        ...(providerMetadata === undefined ? {} : { providerMetadata }),
      });
    },
  };
}

/** Parts that are shown while they arrive, and are no content. */
const PASSING: ReadonlySet<string> = new Set(['tool-input-start', 'tool-input-delta', 'tool-input-end', 'raw', 'ping']);

/** Parts after which nothing may be shown before the turn is on record: the loop acts on them. */
export const isActedOn = ({ type, providerExecuted }: StreamPart): boolean =>
  type === 'finish' || (type === 'tool-call' && providerExecuted !== true);

/** The stream of a whole answer. */
export function* streamOf(answer: ModelAnswer): Iterable<StreamPart> {
  const { content, finishReason, usage, providerMetadata, warnings, response } = answer;
  yield { type: 'stream-start', warnings };
  if (response !== undefined && Object.keys(response).length > 0) yield { type: 'response-metadata', ...response };
  for (const [index, part] of content.entries()) {
    const { type, text, ...fields } = part;
    if (type === 'text' || type === 'reasoning') {
      const id = `${type}-${index}`;
      const { citations, ...metadata } = fields;
      yield { type: `${type}-start`, id, ...metadata };
      if (text !== '') yield { type: `${type}-delta`, id, delta: text };
      yield { type: `${type}-end`, id, ...metadata, ...(citations === undefined ? {} : { citations }) };
    } else yield part;
  }
  yield { type: 'finish', finishReason, usage, ...(providerMetadata === undefined ? {} : { providerMetadata }) };
}

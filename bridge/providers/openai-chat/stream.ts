// Folds the chunks of a stream into a completion, as the server answers without a stream. Chunks may lack the index or the
// id of a call, repeat its name or id, have arguments as text, as a value or not at all, and content as text, as parts or null.
import type { Steps } from '../../../src/core/steps.ts';
import { type StreamEvent, type StreamFold, parseEvent } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, isExactObject, listIn, objectIn, textIn } from '../api/exact-json.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { furtherFields } from './blank.ts';
import { type CallFold, newCallFold } from './call-fold.ts';
import { type ContentFold, newContentFold } from './content-fold.ts';
import { chatError, isError } from './errors.ts';
import { type FieldFold, newFieldFold } from './field-fold.ts';
import { finishWord } from './reply.ts';

interface Choice {
  readonly content: ContentFold;
  readonly fields: FieldFold;
  readonly calls: CallFold;
  finish: string;
  /** A whole message that came instead of deltas. */
  whole: ExactObject | null;
}

const HEAD = ['id', 'model', 'usage', 'x_groq'] as const;

export function newChatFold(): StreamFold {
  const choices = new Map<number, Choice>();
  const head: Record<string, ExactJson> = {};
  let closed = false;
  let finished = false;

  function addChoice(value: ExactObject): readonly ReplyDelta[] {
    const index = typeof value['index'] === 'number' ? value['index'] : 0;
    const choice = choices.get(index) ?? newChoice();
    choices.set(index, choice);
    const word = finishWord(value['finish_reason']);
    if (word === 'error') throw chatError(value, null);
    if (word !== '') {
      finished = true;
      choice.finish = word;
    }
    const { delta, message } = value;
    // When both are present, the message repeats what the deltas so far add up to.
    if (isExactObject(delta)) return addDelta(choice, delta, index === 0);
    if (!isExactObject(message)) return [];
    choice.whole = message;
    finished = true;
    return textIn(message['content']) === '' ? [] : [{ kind: 'text', text: textIn(message['content']) }];
  }

  return {
    add(event) {
      if (closed) return [];
      if (isDone(event.data)) {
        closed = true;
        return [];
      }
      const chunk = chunkOf(event);
      for (const field of HEAD) {
        const value = chunk[field];
        if (value !== undefined && value !== null && value !== '') head[field] = value;
      }
      const values = listIn(chunk['choices']);
      const [only] = values;
      if (values.length === 1 && isExactObject(only)) return addChoice(only);
      return values.flatMap((value) => (isExactObject(value) ? addChoice(value) : []));
    },
    isClosed: () => closed,
    *final() {
      if (!closed && !finished) return null;
      const list: ExactJson[] = [];
      for (const [index, choice] of choices) {
        const message = yield* messageOf(choice);
        list.push({ index, message, finish_reason: choice.finish === '' ? null : choice.finish });
      }
      // The texts that were joined may have megabytes.
      yield;
      return { object: 'chat.completion', ...head, choices: list };
    },
  };
}

const isDone = (data: string): boolean => data.length < 16 && data.trim() === '[DONE]';

const newChoice = (): Choice => ({
  content: newContentFold(),
  fields: newFieldFold(),
  calls: newCallFold(),
  finish: '',
  whole: null,
});

/** An unreadable chunk must not be skipped: the arguments might still be valid JSON, but not what the model wrote. */
function chunkOf(event: StreamEvent): ExactObject {
  const { name, data } = event;
  const chunk = parsed(event);
  if (name === 'error') throw chatError(chunk ?? data, null);
  if (!isExactObject(chunk)) {
    throw new ProviderError('provider_retryable', 'the server sent data that is not a JSON object');
  }
  if (isError(chunk)) throw chatError(chunk, null);
  return chunk;
}

function parsed(event: StreamEvent): ExactJson {
  try {
    return parseEvent(event);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    return null;
  }
}

const DELTA_FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'function_call']);

function addDelta(choice: Choice, delta: ExactObject, isShown: boolean): readonly ReplyDelta[] {
  const deltas: ReplyDelta[] = [];
  const show = (kind: ReplyDelta['kind'], text: string): void => {
    if (isShown && text !== '') deltas.push({ kind, text });
  };
  const { content, tool_calls, function_call } = delta;
  const further = furtherFields(delta, DELTA_FIELDS);
  if (further !== null) show('thinking', choice.fields.add(further));
  if (content !== undefined && content !== null && content !== '') {
    const added = choice.content.add(content);
    show('thinking', added.thinking);
    show('text', added.text);
  }
  show('text', textIn(delta['refusal']));
  for (const call of listIn(tool_calls)) if (isExactObject(call)) choice.calls.add(call);
  if (isExactObject(function_call)) choice.calls.add({ index: 0, function: objectIn(function_call) });
  return deltas;
}

function* messageOf({ content, fields, calls, whole }: Choice): Steps<ExactObject> {
  if (whole !== null) return whole;
  const list = yield* calls.all();
  return {
    role: 'assistant',
    content: content.all(),
    ...fields.all(),
    ...(list.length === 0 ? {} : { tool_calls: list }),
  };
}

// Reads a completion. Servers differ in every detail of this format: calls may lack an id, have arguments as text, as a value
// or not at all; content may be text, parts or null; fields that say nothing may be left out, null or empty.
import type { Json } from '../../../schemas/json.ts';
import type { LayoutPart, Stop, StopReason } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Steps } from '../../../src/core/steps.ts';
import {
  type ExactJson,
  type ExactObject,
  RawJson,
  countIn,
  exactText,
  isExactObject,
  listIn,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { endsStep } from '../api/dialect.ts';
import { textSteps } from '../api/long-text.ts';
import { replyOf, usageOf } from '../api/reply-of.ts';
import { type GenerateReply, ProviderError, type ReplyCall, type ReplyLayout } from '../provider.ts';
import { furtherFields, isBlank } from './blank.ts';
import { BODY_FIELDS, CALL_FIELDS } from './call-fields.ts';
import { chatError, isError } from './errors.ts';
import { messageItem } from './message-item.ts';

/** Throws a {@link ProviderError} when it is no completion, or an error. */
export function* readCompletion(final: ExactJson): Steps<GenerateReply> {
  if (!isExactObject(final)) throw notOfForm('', 'no JSON object');
  if (isError(final)) throw chatError(final, null);
  const [choice, index] = firstChoice(final['choices']);
  const word = finishWord(choice['finish_reason']);
  if (word === 'error') throw chatError(choice, null);
  if (word === 'insufficient_system_resource') {
    throw new ProviderError('provider_retryable', 'the server stopped for lack of resources');
  }
  const { message } = choice;
  if (!isExactObject(message)) throw notOfForm(`/choices/${index}/message`, 'no message');
  const { content, calls, parts, refused } = yield* readMessage(message, word);
  const usage = countsOf(final['usage']) ?? countsOf(objectIn(final['x_groq'])['usage']);
  const stop = stopOf(word, calls.length > 0, refused);
  const layout: ReplyLayout | null = saysNothing(parts)
    ? null
    : { api: 'openai.chat', model: textIn(final['model']), parts };
  return replyOf({ content, calls, usage, stop, layout });
}

const notOfForm = (path: string, what: string): ProviderError =>
  new ProviderError('provider_retryable', `the answer is not a completion: at "${path}": ${what}`);

/** A server may send several choices; the one with the lowest index is the reply. */
function firstChoice(choices: ExactJson | undefined): readonly [ExactObject, number] {
  let found: readonly [ExactObject, number] | null = null;
  for (const [at, choice] of listIn(choices).entries()) {
    if (isExactObject(choice) && (found === null || indexOf(choice) < indexOf(found[0]))) found = [choice, at];
  }
  if (found === null) throw notOfForm('/choices', 'no choice');
  return found;
}

const indexOf = (choice: ExactObject): number => (typeof choice['index'] === 'number' ? choice['index'] : 0);

/** The finish reason, which some servers write as a number; empty when there is none. */
export const finishWord = (value: ExactJson | undefined): string =>
  typeof value === 'number' ? String(value) : textIn(value);

interface Turn {
  readonly content: string;
  readonly calls: readonly ReplyCall[];
  readonly parts: readonly LayoutPart[];
  readonly refused: boolean;
}

function* readMessage(message: ExactObject, word: string): Steps<Turn> {
  const { texts, parts } = yield* readContent(message['content']);
  const written = texts.join('');
  const refusal = textIn(message['refusal']);
  const refuses = written === '' && refusal !== '';
  const content = refuses ? refusal : written;
  if (refuses) parts.push({ text: refusal.length, with: REFUSAL });
  const item = yield* messageItem(message, refuses);
  const calls = yield* readCalls(message, LENGTH.has(word));
  return {
    content,
    calls: calls.map(({ call }) => call),
    parts: [
      ...(item === null ? [] : [{ item }]),
      ...parts,
      ...calls.map(({ extra }, call) => (extra === null ? { call } : { call, with: extra })),
    ],
    refused: refuses,
  };
}

/** The `with` of a text that came as a refusal. */
export const REFUSAL = '{"type":"refusal"}';

function* readContent(
  content: ExactJson | undefined,
): Steps<{ readonly texts: string[]; readonly parts: LayoutPart[] }> {
  if (typeof content === 'string') {
    return content === '' ? { texts: [], parts: [] } : { texts: [content], parts: [{ text: content.length }] };
  }
  const texts: string[] = [];
  const parts: LayoutPart[] = [];
  const written = { chars: 0 };
  for (const part of listIn(content)) {
    const { text, ...extra } = isExactObject(part) ? part : { text: part, type: 'text' };
    if (extra['type'] !== 'text' || typeof text !== 'string') parts.push({ item: yield* textSteps(part, written) });
    else {
      texts.push(text);
      parts.push({ text: text.length, with: yield* textSteps(extra, written) });
    }
  }
  return { texts, parts };
}

/** Only a text and calls after it, without further fields. */
const saysNothing = (parts: readonly LayoutPart[]): boolean =>
  parts.every((part, at) => !('item' in part) && part.with === undefined && (at === 0 || 'call' in part));

interface ReadCall {
  readonly call: ReplyCall;
  /** Its further fields, as JSON text. */
  readonly extra: string | null;
}

function* readCalls(message: ExactObject, cut: boolean): Steps<readonly ReadCall[]> {
  const listed = listIn(message['tool_calls']).filter(isExactObject);
  // The predecessor of `tool_calls`: one call, without an id. Some servers add an empty one to every message.
  const single = message['function_call'];
  const all = isBlank(single) || !isExactObject(single) ? listed : [...listed, { function: single }];
  const read: ReadCall[] = [];
  for (const [at, call] of all.entries()) {
    if (endsStep(at)) yield;
    read.push(readCall(call, cut && at === all.length - 1));
  }
  return read;
}

function readCall(call: ExactObject, cut: boolean): ReadCall {
  const { id, function: asFunction, custom } = call;
  const isCustom = isBlank(asFunction) && !isBlank(custom);
  const body = objectIn(isCustom ? custom : asFunction);
  // A kind that is not known has no name; its kind is one that no tool has, so that the model hears that the call is rejected.
  const kind = kindOf(call);
  const unknown = kind !== '' && kind !== 'custom' && !isExactObject(asFunction);
  const given = typeof id === 'number' ? String(id) : textIn(id);
  const name = unknown ? kind : textIn(body['name']);
  const written = argumentsOf(body['arguments'] ?? body['input'], cut);
  return {
    call: given === '' ? { name, ...written } : { id: given, name, ...written },
    extra: extraOf(call, isCustom ? 'custom' : 'function', body),
  };
}

/** Empty for a function, as nearly all calls are. */
function kindOf(call: ExactObject): string {
  const kind = textIn(call['type']);
  return kind === 'function' ? '' : kind;
}

function extraOf(call: ExactObject, place: string, body: ExactObject): string | null {
  const others = furtherFields(call, CALL_FIELDS);
  const further = furtherFields(body, BODY_FIELDS);
  const kind = kindOf(call);
  if (kind === '' && others === null && further === null) return null;
  return exactText({
    ...(kind === '' ? {} : { type: kind }),
    ...others,
    ...(further === null ? {} : { [place]: further }),
  });
}

function argumentsOf(written: ExactJson | undefined, cut: boolean): Partial<ReplyCall> {
  if (typeof written === 'string' && written.trim() !== '') return { arguments_text: written };
  if (written !== undefined && written !== null && typeof written !== 'string') {
    const text = exactText(written);
    return isPlain(written) ? { arguments: written as Json } : { arguments_text: text };
  }
  // The call must not run without its missing arguments. This text is not JSON, so the model gets an error to correct.
  if (cut) return { arguments_text: CUT_ARGUMENTS };
  // Models often call a tool without parameters without any arguments.
  return { arguments: {} };
}

const CUT_ARGUMENTS = '… (cut: the answer ended before the arguments of its last call)';

const isPlain = (value: ExactJson): boolean =>
  !(value instanceof RawJson) && (typeof value !== 'object' || value === null || Object.values(value).every(isPlain));

const LENGTH: ReadonlySet<string> = new Set([
  'length',
  'max_tokens',
  'max_output_tokens',
  'model_length',
  'model_context_window_exceeded',
]);
const REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  eos: 'end',
  end_turn: 'end',
  stop_sequence: 'end',
  completed: 'end',
  tool_calls: 'end',
  function_call: 'end',
  tool_use: 'end',
  content_filter: 'filtered',
  content_filtered: 'filtered',
  safety: 'filtered',
  sensitive: 'filtered',
  recitation: 'filtered',
  refusal: 'refusal',
  pause_turn: 'paused',
};

function stopOf(word: string, hasCalls: boolean, refused: boolean): Stop | null {
  if (word === '') return refused ? { reason: 'refusal' } : null;
  const known = LENGTH.has(word) ? 'length' : Object.hasOwn(REASONS, word) ? REASONS[word] : undefined;
  const stated: StopReason = known ?? 'other';
  const normal = stated === 'end' && hasCalls ? 'calls' : stated === 'end' && refused ? 'refusal' : stated;
  return { reason: normal, word: word.slice(0, 64).toWellFormed() };
}

function countsOf(value: ExactJson | undefined): Usage | null {
  if (!isExactObject(value)) return null;
  const input = objectIn(value['prompt_tokens_details']);
  const first = (...counts: readonly (ExactJson | undefined)[]): number => counts.map(countIn).find((n) => n > 0) ?? 0;
  const prompt = countIn(value['prompt_tokens']);
  const written = countIn(value['completion_tokens']);
  const cached = first(
    input['cached_tokens'],
    value['prompt_cache_hit_tokens'],
    value['cached_tokens'],
    value['cache_read_input_tokens'],
    value['num_cached_tokens'],
  );
  const cacheWrite = first(input['cache_write_tokens'], value['cache_creation_input_tokens']);
  const reasoning = first(objectIn(value['completion_tokens_details'])['reasoning_tokens'], value['reasoning_tokens']);
  // Some servers leave thinking out of the completion, but not out of the total.
  const output = Math.max(written, countIn(value['total_tokens']) - prompt);
  return usageOf({ input: prompt, output, cached, cacheWrite, reasoning });
}

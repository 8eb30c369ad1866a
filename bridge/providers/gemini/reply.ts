// Reads a GenerateContentResponse, streamed or plain: parts, stop, usage (ai.google.dev, "GenerateContentResponse").
import type { Json } from '../../../schemas/json.ts';
import type { LayoutPart, Stop, StopReason } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Steps } from '../../../src/core/steps.ts';
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  RawJson,
  countIn,
  entryOf,
  exactText,
  holdsRaw,
  isExactObject,
  listIn,
  objectIn,
  setField,
  textIn,
} from '../api/exact-json.ts';
import { endsStep } from '../api/dialect.ts';
import { textSteps } from '../api/long-text.ts';
import { replyOf, usageOf } from '../api/reply-of.ts';
import { type GenerateReply, ProviderError, type ReplyCall, type ReplyLayout } from '../provider.ts';
import { errorOf } from './failure.ts';
import { toolNameOf } from './names.ts';

export const GEMINI = 'gemini.generate_content';

/**
 * What a candidate says beside its content. It is kept as an item after the parts, for people to read, and never sent: a
 * request has no place for it.
 */
export const CANDIDATE_ITEMS = ['groundingMetadata', 'citationMetadata', 'urlContextMetadata'] as const;

/** Throws a {@link ProviderError} when the body is an error, or is not of the API's form. */
export function* readReply(body: ExactJson): Steps<GenerateReply> {
  if (!isExactObject(body)) throw malformed('$', 'an object');
  if (body['error'] !== undefined && body['candidates'] === undefined) throw errorOf(body, null);
  const candidate = candidateOf(body);
  const { content, calls, parts } = yield* readParts(partsOf(candidate));
  for (const key of CANDIDATE_ITEMS) {
    const field = candidate[key];
    if (isExactObject(field) && Object.keys(field).length > 0) {
      parts.push({ item: yield* textSteps({ [key]: field }) });
    }
  }
  const stop = stopOf(candidate, body, calls.length > 0);
  const usage = countsOf(body['usageMetadata']);
  const model = textIn(body['modelVersion']).slice(0, 128);
  const layout: ReplyLayout | null = saysNothing(parts) ? null : { api: GEMINI, model, parts };
  return replyOf({ content, calls, usage, stop, layout });
}

export const blockReasonOf = (body: ExactObject): string => wordOf(objectIn(body['promptFeedback'])['blockReason']);

/** The first candidate; refold asks for one. A blocked prompt has none. */
function candidateOf(body: ExactObject): ExactObject {
  const candidates = listIn(body['candidates']);
  if (candidates.length === 0) {
    if (blockReasonOf(body) !== '') return {};
    throw malformed('$.candidates', 'a list with a candidate, or promptFeedback.blockReason');
  }
  const first = candidates.find((candidate) => indexOf(candidate) === 0) ?? candidates[0];
  if (!isExactObject(first)) throw malformed('$.candidates[0]', 'an object');
  return first;
}

export const indexOf = (candidate: ExactJson): number => Number(objectIn(candidate)['index'] ?? 0);

function partsOf(candidate: ExactObject): readonly ExactObject[] {
  const content = candidate['content'] ?? {};
  if (!isExactObject(content)) throw malformed('$.candidates[0].content', 'an object');
  const parts = content['parts'] ?? [];
  if (!Array.isArray(parts)) throw malformed('$.candidates[0].content.parts', 'a list');
  return (parts as readonly ExactJson[]).map((part, index) => {
    if (!isExactObject(part)) throw malformed(`$.candidates[0].content.parts[${index}]`, 'an object');
    return part;
  });
}

interface Turn {
  readonly content: string;
  readonly calls: readonly ReplyCall[];
  readonly parts: LayoutPart[];
}

function* readParts(list: readonly ExactObject[]): Steps<Turn> {
  const written = { chars: 0 };
  const texts: string[] = [];
  const calls: ReplyCall[] = [];
  const parts: LayoutPart[] = [];
  for (const [index, part] of list.entries()) {
    if (endsStep(index)) yield;
    if (isExactObject(part['functionCall'])) {
      const { call, rest } = callOf(part, part['functionCall']);
      parts.push(
        rest === null ? { call: calls.length } : { call: calls.length, with: yield* textSteps(rest, written) },
      );
      calls.push(call);
    } else if (typeof part['text'] === 'string' && part['thought'] !== true) {
      const { text } = part as ExactObject & { readonly text: string };
      const rest = othersOf(part, 'text');
      const last = parts.at(-1);
      if (rest !== null) parts.push({ text: text.length, with: yield* textSteps(rest, written) });
      else if (last !== undefined && isPlainText(last)) parts[parts.length - 1] = { text: last.text + text.length };
      else if (text !== '') parts.push({ text: text.length });
      texts.push(text);
    } else parts.push({ item: yield* textSteps(part, written) });
  }
  return { content: texts.join(''), calls, parts };
}

const isPlainText = (part: LayoutPart): part is { readonly text: number } => 'text' in part && part.with === undefined;

/** The call, and what its part says besides: the id as well, because most turns have none, and go back without. */
function callOf(
  part: ExactObject,
  functionCall: ExactObject,
): { readonly call: ReplyCall; readonly rest: ExactObject | null } {
  const beside = othersOf(part, 'functionCall');
  const own = othersOf(functionCall, 'name', 'args');
  const id = textIn(functionCall['id']);
  const name = toolNameOf(textIn(functionCall['name']));
  const written = argumentsOf(functionCall['args'] ?? {});
  const call: ReplyCall = id === '' ? { name, ...written } : { id, name, ...written };
  return { call, rest: own === null ? beside : { functionCall: own, ...beside } };
}

/** The fields but those of one or two names; null when there are no others, as mostly. */
function othersOf(fields: ExactObject, one: string, two = one): ExactObject | null {
  let others: FilledObject | null = null;
  for (const name in fields) if (name !== one && name !== two) setField((others ??= {}), name, fields[name] ?? null);
  return others;
}

function argumentsOf(args: ExactJson): Pick<ReplyCall, 'arguments' | 'arguments_text'> {
  if (!holdsRaw(args)) return { arguments: args as Json };
  const value = withoutNeedlessRaw(args);
  return holdsRaw(value) ? { arguments_text: exactText(value) } : { arguments: value as Json };
}

/** A number that a double holds is plain, however it is written (`1e5`, `0.50`): so a stream and a plain body read equally. */
function withoutNeedlessRaw(value: ExactJson): ExactJson {
  if (!holdsRaw(value)) return value;
  if (value instanceof RawJson) return isExactlyHeld(value.text) ? Number(value.text) : value;
  if (Array.isArray(value)) return (value as readonly ExactJson[]).map(withoutNeedlessRaw);
  return Object.fromEntries(
    Object.entries(value as ExactObject).map(([key, field]) => [key, withoutNeedlessRaw(field)]),
  );
}

/** A double holds any 15 digits (IEEE 754, binary64) within its range. */
function isExactlyHeld(text: string): boolean {
  const [digits = ''] = text.replace(/^-?0*\.?0*|\./g, '').split(/[eE]/);
  const significant = digits.replace(/0+$/, '').length;
  const number = Number(text);
  if (significant === 0) return !Object.is(number, -0);
  return significant <= 15 && Number.isFinite(number) && Math.abs(number) > 1e-300;
}

/** Texts and then calls, in order and with nothing else, are what every API's turn is. */
function saysNothing(parts: readonly LayoutPart[]): boolean {
  const firstCall = parts.findIndex((part) => 'call' in part);
  return parts.every((part, index) =>
    'item' in part || part.with !== undefined ? false : 'call' in part || firstCall === -1 || index < firstCall,
  );
}

// FinishReason of the protocol, for servers that print its numbers. The two versions of it agree up to 5.
const NUMBERED: { readonly [number: string]: StopReason } = { 1: 'end', 2: 'length', 3: 'filtered', 4: 'filtered' };
const WORDS: { readonly [word: string]: StopReason } = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'filtered',
  RECITATION: 'filtered',
  BLOCKLIST: 'filtered',
  PROHIBITED_CONTENT: 'filtered',
  SPII: 'filtered',
  MODEL_ARMOR: 'filtered',
  IMAGE_SAFETY: 'filtered',
  IMAGE_PROHIBITED_CONTENT: 'filtered',
  IMAGE_RECITATION: 'filtered',
};

/** The word of a finish or block reason, empty when it states none: 0 and `..._UNSPECIFIED` mean that nothing was set. */
export function wordOf(reason: ExactJson | undefined): string {
  const word = typeof reason === 'number' && reason !== 0 ? String(reason) : textIn(reason);
  return word.endsWith('_UNSPECIFIED') || word === '0' ? '' : word;
}

function stopOf(candidate: ExactObject, body: ExactObject, hasCalls: boolean): Stop | null {
  const blocked = blockReasonOf(body);
  const word = wordOf(candidate['finishReason']) || blocked;
  if (word === '') return null;
  const known =
    entryOf(NUMBERED, word) ?? entryOf(WORDS, word.toUpperCase()) ?? (word === blocked ? 'filtered' : 'other');
  return { reason: known === 'end' && hasCalls ? 'calls' : known, word: word.slice(0, 64) };
}

/** `promptTokenCount` includes cached tokens, but not those of server-side tools; thinking is counted beside the candidates. */
function countsOf(metadata: ExactJson | undefined): Usage | null {
  if (!isExactObject(metadata)) return null;
  const reasoning = countIn(metadata['thoughtsTokenCount']);
  return usageOf({
    input: countIn(metadata['promptTokenCount']) + countIn(metadata['toolUsePromptTokenCount']),
    output: countIn(metadata['candidatesTokenCount']) + reasoning,
    cached: countIn(metadata['cachedContentTokenCount']),
    cacheWrite: 0,
    reasoning,
  });
}

/** The server answered something else than the API's form; the next attempt may be answered well. */
export const malformed = (path: string, wanted: string): ProviderError =>
  new ProviderError('provider_retryable', `the answer is not of Gemini's form: ${path} must be ${wanted}`);

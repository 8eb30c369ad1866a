// Reads a message of the API, streamed or plain, as a reply: text, calls, and everything else as items in their place.
import type { LayoutPart, Stop, StopReason } from '../../../schemas/model-turn.ts';
import type { Json } from '../../../schemas/json.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Steps } from '../../../src/core/steps.ts';
import {
  type ExactJson,
  type ExactObject,
  countIn,
  exactText,
  holdsRaw,
  isExactObject,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { endsStep } from '../api/dialect.ts';
import { textSteps } from '../api/long-text.ts';
import { replyOf, usageOf } from '../api/reply-of.ts';
import { type GenerateReply, ProviderError, type ReplyCall, type ReplyLayout } from '../provider.ts';
import { messagesError } from './failure.ts';

/** Throws a {@link ProviderError} when the body is an error or no message. */
export function* readMessage(final: ExactJson): Steps<GenerateReply> {
  if (!isExactObject(final)) throw unreadable('', 'must be an object');
  if (final['type'] === 'error' || isExactObject(final['error'])) throw messagesError(final, null);
  const { content, stop_reason: word } = final;
  if (!Array.isArray(content)) throw unreadable('/content', 'must be a list of blocks');
  const turn = yield* readBlocks(content as readonly ExactJson[], isCut(word));
  if (isExactObject(final['container'])) turn.parts.push({ item: yield* textSteps({ container: final['container'] }) });
  const stop = stopOf(word, turn.calls.length > 0);
  const { calls, parts } = turn;
  const usage = isExactObject(final['usage']) ? countsOf(final['usage']) : null;
  const model = textIn(final['model']).slice(0, 128).toWellFormed();
  const layout: ReplyLayout | null = saysNothing(parts) ? null : { api: 'anthropic.messages', model, parts };
  return replyOf({ content: turn.texts.join(''), calls, usage, stop, layout });
}

interface Turn {
  readonly texts: string[];
  readonly calls: ReplyCall[];
  readonly parts: LayoutPart[];
}

function* readBlocks(content: readonly ExactJson[], cut: boolean): Steps<Turn> {
  const turn: Turn = { texts: [], calls: [], parts: [] };
  const written = { chars: 0 };
  for (const [index, block] of content.entries()) {
    if (endsStep(index)) yield;
    const path = `/content/${index}`;
    if (!isExactObject(block)) throw unreadable(path, 'must be an object');
    const type = block['type'];
    if (typeof type !== 'string') throw unreadable(`${path}/type`, 'must be text');
    const known = KNOWN_FIELDS.get(type);
    if (known === undefined) {
      turn.parts.push({ item: yield* textSteps(block, written) });
      continue;
    }
    const fields = furtherOf(block, known);
    const further = fields === null ? null : yield* textSteps(fields, written);
    if (type === 'text') readText(turn, block, { path, further });
    else readCall(turn, block, { isLastOfCut: cut && index === content.length - 1, further });
  }
  return turn;
}

interface ReadText {
  readonly path: string;
  /** The further fields of the block as JSON text; null when there are none. */
  readonly further: string | null;
}

function readText({ texts, parts }: Turn, block: ExactObject, { path, further }: ReadText): void {
  const { text } = block;
  if (typeof text !== 'string') throw unreadable(`${path}/text`, 'must be text');
  if (text === '' && further === null) return;
  texts.push(text);
  parts.push(further === null ? { text: text.length } : { text: text.length, with: further });
}

interface ReadCall extends Pick<ReadText, 'further'> {
  readonly isLastOfCut: boolean;
}

function readCall({ calls, parts }: Turn, block: ExactObject, { isLastOfCut, further }: ReadCall): void {
  const { id, name, input } = block;
  parts.push(further === null ? { call: calls.length } : { call: calls.length, with: further });
  const said = { name: textIn(name), ...argumentsOf(input, isLastOfCut) };
  calls.push(typeof id === 'string' && id !== '' ? { id, ...said } : said);
}

/** The fields that are read of the blocks that are not kept as items. */
const KNOWN_FIELDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['text', new Set(['type', 'text'])],
  ['tool_use', new Set(['type', 'id', 'name', 'input'])],
]);

/** The other fields of a block; null when there are none, as mostly. */
function furtherOf(block: ExactObject, known: ReadonlySet<string>): ExactObject | null {
  const further = Object.keys(block).filter((key) => !known.has(key));
  return further.length === 0 ? null : Object.fromEntries(further.map((key) => [key, block[key] ?? null]));
}

type Arguments = Pick<ReplyCall, 'arguments' | 'arguments_text'>;

function argumentsOf(input: ExactJson | undefined, isLastOfCut: boolean): Arguments {
  // What the model wrote when that is no object: a stream keeps its text.
  if (typeof input === 'string') return { arguments_text: input };
  const value = input ?? {};
  // A call that the token limit cut off right after its name must not run without arguments. This text is not JSON, so
  // that the model gets an error to correct.
  if (isLastOfCut && isExactObject(value) && Object.keys(value).length === 0) return { arguments_text: CUT_ARGUMENTS };
  return holdsRaw(value) ? { arguments_text: exactText(value) } : { arguments: value as Json };
}

export const CUT_ARGUMENTS = '… (cut: the answer ended before the arguments of its last call)';

const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'end'],
  ['tool_use', 'calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
  ['pause_turn', 'paused'],
  ['compaction', 'paused'],
]);

const isCut = (word: ExactJson | undefined): boolean => STOP_REASONS.get(textIn(word)) === 'length';

function stopOf(word: ExactJson | undefined, hasCalls: boolean): Stop | null {
  const said = textIn(word).slice(0, 64).toWellFormed();
  if (said === '') return null;
  const reason = STOP_REASONS.get(said) ?? 'other';
  if (hasCalls && (reason === 'end' || reason === 'paused')) return { reason: 'calls', word: said };
  // `tool_use` of the provider's own tools only: there is no result to wait for.
  return { reason: !hasCalls && reason === 'calls' ? 'end' : reason, word: said };
}

// The API counts cached tokens apart from the others of the input, and thinking within the output.
function countsOf(usage: ExactObject): Usage {
  const cached = countIn(usage['cache_read_input_tokens']);
  const written = countIn(usage['cache_creation_input_tokens']);
  return usageOf({
    input: countIn(usage['input_tokens']) + cached + written,
    output: countIn(usage['output_tokens']),
    cached,
    cacheWrite: written,
    reasoning: countIn(objectIn(usage['output_tokens_details'])['thinking_tokens']),
  });
}

/** At most one text, then calls, none of them with further fields: the text and the calls say it all. */
const saysNothing = (parts: readonly LayoutPart[]): boolean =>
  parts.every((part, index) => !('item' in part) && part.with === undefined && ('call' in part || index === 0));

const unreadable = (path: string, fault: string): ProviderError =>
  new ProviderError('provider_retryable', `the answer is not a message: at "${path}": ${fault}`);

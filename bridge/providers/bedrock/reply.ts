// A turn from the answer of Converse, which a stream is folded into as well.
import type { Json } from '../../../schemas/json.ts';
import type { LayoutPart, Stop, StopReason } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Steps } from '../../../src/core/steps.ts';
import {
  type ExactJson,
  type ExactObject,
  countIn,
  exactText,
  holdsRaw,
  isExactObject,
  listIn,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { endsStep } from '../api/dialect.ts';
import { textSteps } from '../api/long-text.ts';
import { replyOf, usageOf } from '../api/reply-of.ts';
import type { GenerateReply, ReplyCall, ReplyLayout } from '../provider.ts';
import { converseFault, oddAnswer } from './errors.ts';
import { withoutFields } from './without-fields.ts';

/** Throws a ProviderError when the answer is an error, or not of the API's form. */
export function* readConverse(final: ExactJson): Steps<GenerateReply> {
  if (!isExactObject(final)) throw oddAnswer('the body', 'a JSON object');
  const message = objectIn(objectIn(final['output'])['message']);
  if (!Array.isArray(message['content'])) {
    if (final['output'] === undefined && isFault(final)) throw converseFault(final, null);
    throw oddAnswer('output.message.content', 'a list');
  }
  const word = textIn(final['stopReason']);
  const turn = yield* turnOf(listIn(message['content']), REASONS.get(word) === 'length');
  const stop = stopOf(word, turn.calls.length > 0);
  const usage = countsOf(final['usage']);
  const { content, calls, parts } = turn;
  // The answer does not name its model: the caller knows which one it asked.
  const layout: ReplyLayout | null = saysNothing(parts) ? null : { api: 'bedrock.converse', model: '', parts };
  return replyOf({ content, calls, usage, stop, layout });
}

const isFault = (body: ExactObject): boolean =>
  ['message', 'Message', '__type'].some((key) => typeof body[key] === 'string');

interface Turn {
  readonly content: string;
  readonly calls: readonly ReplyCall[];
  readonly parts: readonly LayoutPart[];
}

function* turnOf(blocks: readonly ExactJson[], cut: boolean): Steps<Turn> {
  const written = { chars: 0 };
  const texts: string[] = [];
  const calls: ReplyCall[] = [];
  const parts: LayoutPart[] = [];
  for (const [index, block] of blocks.entries()) {
    if (endsStep(index)) yield;
    if (!isExactObject(block)) throw oddAnswer(`output.message.content[${index}]`, 'an object');
    const visible = visibleText(block);
    const use = block['toolUse'];
    if (visible !== null) {
      const { text, rest } = visible;
      texts.push(text);
      if (rest !== undefined) parts.push({ text: text.length, with: yield* textSteps(rest, written) });
      else if (text !== '') parts.push({ text: text.length });
    } else if (isExactObject(use) && use['type'] !== SERVER_TOOL) {
      const rest = restOfCall(block, use);
      parts.push(
        rest === undefined ? { call: calls.length } : { call: calls.length, with: yield* textSteps(rest, written) },
      );
      calls.push(callOf(use, cut && index === blocks.length - 1));
    } else parts.push({ item: yield* textSteps(block, written) });
  }
  return { content: texts.join(''), calls, parts };
}

/** The type of a call that the provider runs itself. */
const SERVER_TOOL = 'server_tool_use';

interface Visible {
  readonly text: string;
  readonly rest: ExactObject | undefined;
}

/** The text of a block that people read, and what else the block holds; null for other blocks. */
function visibleText(block: ExactObject): Visible | null {
  if (typeof block['text'] === 'string') {
    const { text, ...rest } = block as ExactObject & { readonly text: string };
    return { text, rest: nonEmpty(rest) };
  }
  const cited = block['citationsContent'];
  if (!isExactObject(cited) || !Array.isArray(cited['content'])) return null;
  // In the layout each text of a block with citations is replaced by its length.
  const pieces: string[] = [];
  const content = listIn(cited['content']).map((piece) => {
    if (!isExactObject(piece) || typeof piece['text'] !== 'string') return piece;
    pieces.push(piece['text']);
    return { ...piece, text: piece['text'].length };
  });
  return { text: pieces.join(''), rest: { ...block, citationsContent: { ...cited, content } } };
}

// Some models state the type `tool_use`, which a request may not hold.
function restOfCall(block: ExactObject, use: ExactObject): ExactObject | undefined {
  if (hasOnly(block, BLOCK_OF_CALL) && hasOnly(use, PLAIN_CALL)) return undefined;
  const said = ['toolUseId', 'name', 'input', ...(use['type'] === 'tool_use' ? ['type'] : [])];
  const own = nonEmpty(withoutFields(use, said));
  return nonEmpty({ ...withoutFields(block, ['toolUse']), ...(own === undefined ? {} : { toolUse: own }) });
}

const BLOCK_OF_CALL: ReadonlySet<string> = new Set(['toolUse']);
const PLAIN_CALL: ReadonlySet<string> = new Set(['toolUseId', 'name', 'input']);

/** True of nearly every call: its block says nothing else. */
function hasOnly(fields: ExactObject, names: ReadonlySet<string>): boolean {
  for (const name in fields) if (!names.has(name)) return false;
  return true;
}

const nonEmpty = (fields: ExactObject): ExactObject | undefined =>
  Object.keys(fields).length === 0 ? undefined : fields;

function callOf(use: ExactObject, cut: boolean): ReplyCall {
  const id = textIn(use['toolUseId']);
  const name = textIn(use['name']);
  const written = argumentsOf(use['input'] ?? {}, cut);
  return id === '' ? { name, ...written } : { id, name, ...written };
}

function argumentsOf(input: ExactJson, cut: boolean): Pick<ReplyCall, 'arguments' | 'arguments_text'> {
  if (typeof input === 'string') return { arguments_text: input };
  // The call must not run without its missing arguments. This text is not JSON, so the model gets an error to correct.
  if (cut && isExactObject(input) && nonEmpty(input) === undefined) return { arguments_text: CUT };
  return holdsRaw(input) ? { arguments_text: exactText(input) } : { arguments: input as Json };
}

const CUT = '… (cut: the answer ended before the arguments of this call)';

/** True when the parts are at most one text and then the calls, which an encoder writes without being told. */
const saysNothing = (parts: readonly LayoutPart[]): boolean =>
  parts.every((part, index) => !('item' in part) && part.with === undefined && ('call' in part || index === 0));

const REASONS: ReadonlyMap<string, StopReason> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'end'],
  ['tool_use', 'calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['guardrail_intervened', 'filtered'],
  ['content_filtered', 'filtered'],
  ['refusal', 'refusal'],
]);

function stopOf(word: string, called: boolean): Stop | null {
  if (word === '') return null;
  const stated = REASONS.get(word) ?? 'other';
  // A turn may end with `tool_use` when the provider alone ran tools.
  const normal = stated === 'end' || stated === 'calls';
  return { reason: normal ? (called ? 'calls' : 'end') : stated, word: word.slice(0, 64) };
}

/** `inputTokens` counts neither what was read from a cache nor what was written to it. */
function countsOf(value: ExactJson | undefined): Usage | null {
  if (!isExactObject(value)) return null;
  const cached = countIn(value['cacheReadInputTokens'] ?? value['cacheReadInputTokenCount']);
  const written = countIn(value['cacheWriteInputTokens'] ?? value['cacheWriteInputTokenCount']);
  return usageOf({
    input: countIn(value['inputTokens']) + cached + written,
    output: countIn(value['outputTokens']),
    cached,
    cacheWrite: written,
    reasoning: 0,
  });
}

// A turn from the answer of Converse, which a stream is folded into as well.
import type { Json } from '../../../schemas/json.ts';
import type { LayoutPart, Stop, StopReason } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
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
import type { GenerateReply, ReplyCall } from '../provider.ts';
import { converseFault, oddAnswer } from './errors.ts';
import { withoutFields } from './without-fields.ts';

/** Throws a ProviderError when the answer is an error, or not of the API's form. */
export function readConverse(final: ExactJson): GenerateReply {
  if (!isExactObject(final)) throw oddAnswer('the body', 'a JSON object');
  const message = objectIn(objectIn(final['output'])['message']);
  if (!Array.isArray(message['content'])) {
    if (final['output'] === undefined && isFault(final)) throw converseFault(final, null);
    throw oddAnswer('output.message.content', 'a list');
  }
  const word = textIn(final['stopReason']);
  const turn = turnOf(listIn(message['content']), REASONS.get(word) === 'length');
  const stop = stopOf(word, turn.calls.length > 0);
  const usage = usageOf(final['usage']);
  const { content, calls, parts } = turn;
  return {
    ...(content === '' ? {} : { content }),
    calls,
    ...(usage === undefined ? {} : { usage }),
    ...(stop === undefined ? {} : { stop }),
    // The answer does not name its model: the caller knows which one it asked.
    ...(saysNothing(parts) ? {} : { layout: { api: 'bedrock.converse', model: '', parts } }),
  };
}

const isFault = (body: ExactObject): boolean =>
  ['message', 'Message', '__type'].some((key) => typeof body[key] === 'string');

interface Turn {
  readonly content: string;
  readonly calls: readonly ReplyCall[];
  readonly parts: readonly LayoutPart[];
}

function turnOf(blocks: readonly ExactJson[], cut: boolean): Turn {
  const texts: string[] = [];
  const calls: ReplyCall[] = [];
  const parts: LayoutPart[] = [];
  for (const [index, block] of blocks.entries()) {
    if (!isExactObject(block)) throw oddAnswer(`output.message.content[${index}]`, 'an object');
    const visible = visibleText(block);
    const use = block['toolUse'];
    if (visible !== null) {
      const { text, rest } = visible;
      texts.push(text);
      if (text !== '' || rest !== undefined) parts.push({ text: text.length, ...withRest(rest) });
    } else if (isExactObject(use) && use['type'] !== SERVER_TOOL) {
      parts.push({ call: calls.length, ...withRest(restOfCall(block, use)) });
      calls.push(callOf(use, cut && index === blocks.length - 1));
    } else parts.push({ item: exactText(block) });
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
  const { text, ...rest } = block;
  if (typeof text === 'string') return { text, rest: nonEmpty(rest) };
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
  const said = ['toolUseId', 'name', 'input', ...(use['type'] === 'tool_use' ? ['type'] : [])];
  const own = nonEmpty(withoutFields(use, said));
  return nonEmpty({ ...withoutFields(block, ['toolUse']), ...(own === undefined ? {} : { toolUse: own }) });
}

const nonEmpty = (fields: ExactObject): ExactObject | undefined =>
  Object.keys(fields).length === 0 ? undefined : fields;
const withRest = (rest: ExactObject | undefined) => (rest === undefined ? {} : { with: exactText(rest) });

function callOf(use: ExactObject, cut: boolean): ReplyCall {
  const id = textIn(use['toolUseId']);
  const named = { ...(id === '' ? {} : { id }), name: textIn(use['name']) };
  const input = use['input'] ?? {};
  if (typeof input === 'string') return { ...named, arguments_text: input };
  // The call must not run without its missing arguments. This text is not JSON, so the model gets an error to correct.
  if (cut && isExactObject(input) && nonEmpty(input) === undefined) return { ...named, arguments_text: CUT };
  return holdsRaw(input) ? { ...named, arguments_text: exactText(input) } : { ...named, arguments: input as Json };
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

function stopOf(word: string, called: boolean): Stop | undefined {
  if (word === '') return undefined;
  const stated = REASONS.get(word) ?? 'other';
  // A turn may end with `tool_use` when the provider alone ran tools.
  const normal = stated === 'end' || stated === 'calls';
  return { reason: normal ? (called ? 'calls' : 'end') : stated, word: word.slice(0, 64) };
}

/** `inputTokens` counts neither what was read from a cache nor what was written to it. */
function usageOf(value: ExactJson | undefined): Usage | undefined {
  if (!isExactObject(value)) return undefined;
  const cached = countIn(value['cacheReadInputTokens'] ?? value['cacheReadInputTokenCount']);
  const written = countIn(value['cacheWriteInputTokens'] ?? value['cacheWriteInputTokenCount']);
  return {
    input_tokens: countIn(value['inputTokens']) + cached + written,
    output_tokens: countIn(value['outputTokens']),
    ...(cached === 0 ? {} : { cached_tokens: cached }),
    ...(written === 0 ? {} : { cache_write_tokens: written }),
  };
}

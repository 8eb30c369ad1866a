// Reads a response, item by item:
// - `message`: each text is a part of the turn's text. Its `with` is `{message, part}`: the further fields of the message (id, status,
//   phase) and of the part (annotations, logprobs). A `with` that has `message`, or a text after another part, begins a message. A
//   refusal is a text whose `part` has `type: "refusal"`; any other part is a text of length 0 whose `with` holds it as `other`.
// - `function_call`: a call; `with` has what its name, arguments and call id do not say.
// - `custom_tool_call`: a call with one argument, `input`: the text that the model wrote. Its `with` has the type, so that it goes back
//   as it was, and its result as `custom_tool_call_output`.
// - everything else is an item, kept whole: reasoning, server-side calls and their results, compaction, unknown kinds.
import type { LayoutPart, Stop } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Steps } from '../../../src/core/steps.ts';
import {
  type ExactJson,
  type ExactObject,
  countIn,
  entryOf,
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
import { responsesError } from './error.ts';

export function* readResponse(final: ExactJson): Steps<GenerateReply> {
  const response = responseIn(final);
  const status = textIn(response['status']);
  const turn = newTurn();
  const output = listIn(response['output']);
  const written = { chars: 0 };
  for (const [index, item] of output.entries()) {
    if (endsStep(index)) yield;
    if (!isExactObject(item)) throw malformed(`$.output[${index}]`, 'is not an object');
    if (isWhole(item)) turn.parts.push({ item: yield* textSteps(item, written) });
    else addItem(turn, item, status === 'incomplete' && index === output.length - 1);
  }
  const content = turn.texts.join('');
  const { calls, parts } = turn;
  const usage = countsOf(response['usage']);
  const stop = status === '' ? null : stopOf(response, status, turn);
  const layout: ReplyLayout | null = saysNothing(parts)
    ? null
    : { api: 'openai.responses', model: modelOf(response), parts };
  return replyOf({ content, calls, usage, stop, layout });
}

/** The calls and parts of a turn so far. */
interface Turn {
  readonly texts: string[];
  readonly calls: ReplyCall[];
  readonly parts: LayoutPart[];
  refuses: boolean;
}

const newTurn = (): Turn => ({ texts: [], calls: [], parts: [], refuses: false });

function responseIn(final: ExactJson): ExactObject {
  if (!isExactObject(final)) throw malformed('$', 'is not an object');
  const { error } = final;
  const status = textIn(final['status']);
  if (isExactObject(error) || (typeof error === 'string' && error !== '') || status === 'failed') {
    throw responsesError(final, null);
  }
  if (status === 'queued' || status === 'in_progress' || status === 'cancelled') {
    throw malformed('$.status', `is "${status}": the response is no completion; turn background mode off`);
  }
  if (!Array.isArray(final['output'])) throw malformed('$.output', 'is not a list');
  return final;
}

const malformed = (path: string, what: string): ProviderError =>
  new ProviderError(
    'provider_retryable',
    `the server did not answer with a response of the Responses API: ${path} ${what}`,
  );

/** An item that is kept as it is: nothing of it is read. */
function isWhole(item: ExactObject): boolean {
  const type = item['type'];
  if (type === 'message') return (item['role'] ?? 'assistant') !== 'assistant' || contentOf(item).length === 0;
  return type !== 'function_call' && type !== 'custom_tool_call';
}

function addItem(turn: Turn, item: ExactObject, last: boolean): void {
  const type = item['type'];
  if (type === 'message') addMessage(turn, item);
  else if (type === 'function_call') addCall(turn, item, last);
  else addCustomCall(turn, item);
}

function contentOf({ content }: ExactObject): readonly ExactJson[] {
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : listIn(content);
}

function addMessage(turn: Turn, item: ExactObject): void {
  const { type: _type, role: _role, content: _content, ...message } = item;
  contentOf(item).forEach((part, index) => addContent(turn, part, index === 0 ? message : null));
}

/** One content part. `message` has the further fields of its message if it is the first part of one. */
function addContent(turn: Turn, content: ExactJson, message: ExactObject | null): void {
  const known = textPart(objectIn(content));
  if (known?.refusal === true) turn.refuses = true;
  if (known !== null && known.text !== '') turn.texts.push(known.text);
  const fields: Record<string, ExactJson> = {};
  const previous = turn.parts.at(-1);
  const followsText = previous !== undefined && 'text' in previous;
  if (message !== null && (followsText || !isEmpty(message))) fields['message'] = message;
  if (known === null) fields['other'] = content;
  else if (message === null || !isEmpty(known.rest)) fields['part'] = known.rest;
  turn.parts.push({ text: known?.text.length ?? 0, ...withOf(fields) });
}

/** The text of a part and its further fields; null when the part is no text. */
function textPart(part: ExactObject): { text: string; rest: ExactObject; refusal: boolean } | null {
  const { type, text, refusal, ...rest } = part;
  if (type === 'refusal' && typeof refusal === 'string') {
    return { text: refusal, rest: { type, ...(text === undefined ? {} : { text }), ...rest }, refusal: true };
  }
  if ((type !== 'output_text' && type !== 'text') || typeof text !== 'string') return null;
  const further = { ...(refusal === undefined ? {} : { refusal }), ...rest };
  return { text, rest: type === 'text' ? { type, ...further } : further, refusal: false };
}

function addCall(turn: Turn, item: ExactObject, last: boolean): void {
  const { type: _type, name, arguments: written, call_id: _call, ...rest } = item;
  const text =
    typeof written === 'string' || written === undefined || written === null ? textIn(written) : exactText(written);
  const cut = last || item['status'] === 'incomplete';
  // A call without any arguments is one of a tool without parameters, unless the answer ended before they were written.
  const given =
    text.trim() === '' ? (cut ? { arguments_text: CUT_ARGUMENTS } : { arguments: {} }) : { arguments_text: text };
  pushCall(turn, { ...idOf(item), name: textIn(name), ...given }, rest);
}

// This text is not JSON: the call is not run, and the model hears why.
const CUT_ARGUMENTS = '… (cut: the answer ended before the arguments of its last call)';

// The input of a custom tool is text, which refold's tools do not take: it becomes the argument `input`.
function addCustomCall(turn: Turn, item: ExactObject): void {
  const { type, name, input, call_id: _call, ...rest } = item;
  const call = { ...idOf(item), name: textIn(name), arguments_text: exactText({ input: textIn(input) }) };
  pushCall(turn, call, { type: type as string, ...rest });
}

const idOf = (item: ExactObject): { id?: string } => {
  const id = textIn(item['call_id']) || textIn(item['id']);
  return id === '' ? {} : { id };
};

function pushCall(turn: Turn, call: ReplyCall, rest: ExactObject): void {
  turn.parts.push({ call: turn.calls.length, ...withOf(rest) });
  turn.calls.push(call);
}

function isEmpty(fields: ExactObject): boolean {
  for (const _key in fields) return false;
  return true;
}

const withOf = (fields: ExactObject): { with?: string } => (isEmpty(fields) ? {} : { with: exactText(fields) });

/** The parts are what a turn without a layout is sent as: its text, then its calls. */
function saysNothing(parts: readonly LayoutPart[]): boolean {
  const firstCall = parts.findIndex((part) => 'call' in part);
  const lastText = parts.findLastIndex((part) => 'text' in part);
  return (
    (firstCall === -1 || lastText < firstCall) && parts.every((part) => !('item' in part) && part.with === undefined)
  );
}

const INCOMPLETE: Readonly<Record<string, Stop['reason']>> = {
  max_output_tokens: 'length',
  content_filter: 'filtered',
};

function stopOf(response: ExactObject, status: string, { calls, refuses }: Turn): Stop {
  if (status === 'incomplete') {
    const reason = textIn(objectIn(response['incomplete_details'])['reason']) || status;
    return { reason: entryOf(INCOMPLETE, reason) ?? 'other', word: reason.slice(0, 64).toWellFormed() };
  }
  const word = status.slice(0, 64).toWellFormed();
  if (calls.length > 0) return { reason: 'calls', word };
  return refuses ? { reason: 'refusal', word: 'refusal' } : { reason: 'end', word };
}

function countsOf(value: ExactJson | undefined): Usage | null {
  if (!isExactObject(value)) return null;
  const input = objectIn(value['input_tokens_details']);
  return usageOf({
    input: countIn(value['input_tokens']),
    output: countIn(value['output_tokens']),
    cached: countIn(input['cached_tokens']),
    cacheWrite: countIn(input['cache_write_tokens']),
    reasoning: countIn(objectIn(value['output_tokens_details'])['reasoning_tokens']),
  });
}

const modelOf = (response: ExactObject): string => textIn(response['model']).slice(0, 128).toWellFormed();

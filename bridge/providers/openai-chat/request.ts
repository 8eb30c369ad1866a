// A conversation as a Chat Completions request.
import type { OfferedTool } from '../../../schemas/effect.ts';
import { isPlainObject } from '../../../schemas/json.ts';
import type { LayoutPart } from '../../../schemas/model-turn.ts';
import type { RequestTarget, WireRequest } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, RawJson, exactText, objectIn, parseExact } from '../api/exact-json.ts';
import { fittingParts } from '../api/layout-fit.ts';
import { type IdRule, wireIds } from '../api/wire-ids.ts';
import type { AssistantMessage, GenerateRequest, Message, MessageCall } from '../provider.ts';
import { attachmentParts } from './attachments.ts';
import { withoutMisspelled } from '../api/client-names.ts';
import { fieldsOfItem, isOfClient } from './message-item.ts';
import { orderResults } from './order-results.ts';
import { REFUSAL } from './reply.ts';

export function chatRequest(request: GenerateRequest, target: RequestTarget): WireRequest {
  const { instructions, tools, output_tokens_max, temperature, reasoning, tool_choice, parallel_calls } = request;
  const { model, stream, baseUrl } = target;
  const system: readonly ExactJson[] = instructions === null ? [] : [{ role: 'system', content: instructions }];
  const messages = orderResults(wireIds(request.messages, idRule(target)));
  const offered = tools.length > 0;
  const body: ExactObject = {
    model,
    messages: [...system, ...begun(messages.flatMap((message) => chatMessages(message, model)))],
    ...(offered ? { tools: tools.map(chatTool) } : {}),
    ...(offered && tool_choice !== undefined && tool_choice !== null ? { tool_choice: choiceOf(tool_choice) } : {}),
    ...(offered && typeof parallel_calls === 'boolean' ? { parallel_tool_calls: parallel_calls } : {}),
    ...(output_tokens_max === null ? {} : { [tokensField(baseUrl)]: output_tokens_max }),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...reasoningFields(reasoning ?? {}, baseUrl),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  };
  return { path: '/chat/completions', headers: {}, body: exactText(body) };
}

/** OpenAI's newer models refuse the older name of this field, and other servers do not know the newer one. */
const tokensField = (baseUrl: string): string =>
  /\.(openai|azure)\.com/.test(baseUrl) ? 'max_completion_tokens' : 'max_tokens';

// OpenAI's servers take at most 40 characters, Mistral's exactly nine letters and digits, Anthropic's models no punctuation.
function idRule({ model, baseUrl }: RequestTarget): IdRule {
  if (/\bmistral\.ai\b/.test(baseUrl)) return { alphabet: /[A-Za-z0-9]/, max: 9, min: 9 };
  if (/claude/i.test(model)) return { alphabet: /[A-Za-z0-9_-]/, max: 64 };
  return { alphabet: /[\x21-\x7e]/, max: /\.(openai|azure)\.com/.test(baseUrl) ? 40 : 64 };
}

/** `max` is the highest effort that all models take. A number of tokens is known to OpenRouter only. */
function reasoningFields(
  { effort, tokens_max }: { effort?: string; tokens_max?: number },
  baseUrl: string,
): ExactObject {
  const word = effort === 'max' ? 'high' : effort;
  if (/\bopenrouter\.ai\b/.test(baseUrl) && tokens_max !== undefined) return { reasoning: { max_tokens: tokens_max } };
  return word === undefined ? {} : { reasoning_effort: word };
}

const choiceOf = (choice: NonNullable<GenerateRequest['tool_choice']>): ExactJson =>
  typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } };

const chatTool = ({ tool_name, description, input_schema }: OfferedTool): ExactJson => ({
  type: 'function',
  function: { name: tool_name, description, parameters: input_schema as ExactJson },
});

/**
 * A window may begin with a turn of the model, or hold empty texts only; many servers want a user's message first, and all want
 * one message at least.
 */
const begun = (messages: readonly Written[]): readonly ExactJson[] => [
  ...(messages[0]?.role === 'user' ? [] : [{ role: 'user', content: EARLIER }]),
  ...messages.map(({ text }) => text),
];

const EARLIER = '(Earlier messages are not shown.)';

/** A message and its JSON text. */
interface Written {
  readonly role: string;
  readonly text: RawJson;
}

const writtenOf = (role: string, fields: ExactObject): Written => ({
  role,
  text: new RawJson(exactText({ role, ...fields })),
});

function chatMessages(message: Message, model: string): readonly Written[] {
  if (message.role === 'assistant') return assistantMessage(message, model);
  const attached = attachmentParts(message.attachments ?? []);
  if (message.role === 'tool') return [writtenOf('tool', { tool_call_id: message.call_id, content: message.text })];
  if (attached.length === 0) return message.text === '' ? [] : [writtenOf('user', { content: message.text })];
  const text = message.text === '' ? [] : [{ type: 'text', text: message.text }];
  return [writtenOf('user', { content: [...text, ...attached] })];
}

/** None for a turn that says nothing: servers refuse it. */
function assistantMessage(message: AssistantMessage, model: string): readonly Written[] {
  const parts = fittingParts(message, 'openai.chat', model) ?? plainParts(message);
  const [first] = parts;
  const fields = first !== undefined && 'item' in first ? fieldsOfItem(first.item) : null;
  const { content, refusal } = contentOf(message.text, fields === null ? parts : parts.slice(1));
  const calls = parts.flatMap((part) =>
    'call' in part ? [chatCall(message.calls[part.call] as MessageCall, part.with)] : [],
  );
  if (content === null && calls.length === 0 && fields === null && refusal === '') return [];
  const { role, text: body } = writtenOf('assistant', {
    content,
    ...(refusal === '' ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  });
  return [{ role, text: fields === null ? body : new RawJson(`${body.text.slice(0, -1)},${fields}}`) }];
}

/** A text while there are only texts without further fields, else a list. Empty texts are left out. */
function contentOf(text: string, parts: readonly LayoutPart[]): { content: ExactJson; refusal: string } {
  let at = 0;
  let refusal = '';
  let plain = true;
  const pieces: string[] = [];
  const list: ExactJson[] = [];
  for (const part of parts) {
    if ('item' in part) {
      if (isOfClient(part.item)) continue;
      plain = false;
      list.push(new RawJson(part.item));
    } else if ('text' in part) {
      const piece = text.slice(at, at + part.text);
      at += part.text;
      if (part.with === REFUSAL) refusal = piece;
      else if (piece !== '') {
        plain &&= part.with === undefined;
        pieces.push(piece);
        const further = part.with === undefined ? {} : objectIn(parseExact(part.with));
        list.push({ type: 'text', text: piece, ...withoutMisspelled(further, ['type', 'text']) });
      }
    }
  }
  return { content: list.length === 0 ? null : plain ? pieces.join('') : list, refusal };
}

const plainParts = ({ text, calls }: AssistantMessage): readonly LayoutPart[] => [
  ...(text === '' ? [] : [{ text: text.length }]),
  ...calls.map((_, call) => ({ call })),
];

function chatCall({ id, name, arguments: written }: MessageCall, extra: string | undefined): ExactJson {
  const fields = extra === undefined ? {} : objectIn(parseExact(extra));
  if (fields['type'] === 'custom') {
    return { id, ...fields, custom: { ...objectIn(fields['custom']), name: functionName(name), input: written } };
  }
  const body = { ...objectIn(fields['function']), name: functionName(name), arguments: objectText(written) };
  return { id, type: 'function', ...fields, function: body };
}

// Servers refuse a whole conversation because of one invalid tool name that a model made up.
const functionName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

// Many servers parse the arguments of earlier calls, and fail when these are not a JSON object. What the model wrote is
// wrapped in an object; the result of the call states what was wrong.
function objectText(written: string): string {
  try {
    if (isPlainObject(JSON.parse(written))) return written;
  } catch {
    // Not JSON: wrapped below.
  }
  return JSON.stringify({ invalid_arguments: written });
}

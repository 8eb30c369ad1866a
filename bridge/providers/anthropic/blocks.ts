// Messages as blocks of the API: what a person wrote, the result of a call, and a turn of a model.
import type { LayoutPart } from '../../../schemas/model-turn.ts';
import { type ExactJson, type ExactObject, RawJson, isExactObject, parseExact, textIn } from '../api/exact-json.ts';
import { foldName, foldedNames, misspells } from '../api/client-names.ts';
import { sameFamily } from '../api/model-family.ts';
import type { AssistantMessage, MessageAttachment, MessageCall, ToolMessage } from '../provider.ts';

/** A block of an assistant message, and what the rules about its neighbours need to know of it. */
export type TurnBlock =
  | { readonly kind: 'text'; readonly json: ExactObject; readonly text: string }
  | { readonly kind: 'call'; readonly json: ExactObject; readonly id: string; readonly name: string }
  | { readonly kind: 'thinking'; readonly json: ExactJson }
  /** `uses`: it begins work of a server with this id; `answers`: it is the result of that work. */
  | { readonly kind: 'item'; readonly json: ExactJson; readonly uses: string | null; readonly answers: string | null }
  /** Where code of the model runs; it goes beside the messages. */
  | { readonly kind: 'container'; readonly id: string };

/** The turn as its own model wrote it, or its text and calls where another model reads it or the layout does not fit. */
export function turnBlocks(message: AssistantMessage, model: string): readonly TurnBlock[] {
  const { text, calls, layout } = message;
  const own = layout !== undefined && layout.api === 'anthropic.messages' && sameFamily(layout.model, model);
  if (own && fits(layout.parts, text, calls.length)) return partBlocks(layout.parts, text, calls);
  return [...(text === '' ? [] : [textBlock(text, {})]), ...calls.map((call) => callBlock(call, {}))];
}

function fits(parts: readonly LayoutPart[], text: string, calls: number): boolean {
  let units = 0;
  let next = 0;
  for (const part of parts) {
    if ('text' in part) units += part.text;
    else if ('call' in part && part.call !== next++) return false;
  }
  return units === text.length && next === calls;
}

function partBlocks(parts: readonly LayoutPart[], text: string, calls: readonly MessageCall[]): readonly TurnBlock[] {
  const blocks: TurnBlock[] = [];
  let at = 0;
  for (const part of parts) {
    if ('text' in part) {
      blocks.push(textBlock(text.slice(at, at + part.text), fieldsOf(part.with)));
      at += part.text;
    } else if ('call' in part) blocks.push(callBlock(calls[part.call] as MessageCall, fieldsOf(part.with)));
    else blocks.push(...itemBlock(part.item));
  }
  return blocks;
}

const textBlock = (text: string, further: ExactObject): TurnBlock => ({
  kind: 'text',
  json: { ...further, type: 'text', text },
  text,
});

const callBlock = ({ id, name, arguments: written }: MessageCall, further: ExactObject): TurnBlock => ({
  kind: 'call',
  json: { ...further, type: 'tool_use', id, name: wireName(name), input: inputOf(written) },
  id,
  name: wireName(name),
});

// The API refuses a whole conversation because of one invalid tool name that a model made up.
const wireName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

/** The text itself, unparsed, when it is an object; else the form that the API's documentation names for such input. */
function inputOf(written: string): ExactJson {
  if (written.trim() === '') return {};
  const value = valueOf(written);
  return isExactObject(value) ? new RawJson(written) : { INVALID_JSON: written };
}

function fieldsOf(text: string | undefined): ExactObject {
  if (text === undefined) return {};
  try {
    const value = parseExact(text);
    return isExactObject(value) ? value : {};
  } catch {
    return {};
  }
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Blocks that only a user sends. A result is one, unless it names the work of the server that it belongs to. */
const OF_USERS = foldedNames('tool_result', 'document', 'image', 'search_result', 'container_upload', 'system');

function isOfUser(block: ExactObject): boolean {
  if (misspells(block, ['type', 'role']) || (block['role'] ?? 'assistant') !== 'assistant') return true;
  const type = textIn(block['type']);
  const folded = foldName(type);
  const isServers = type.endsWith('_tool_result') && textIn(block['tool_use_id']) !== '';
  return OF_USERS.has(folded) || (folded.endsWith('toolresult') && !isServers);
}

/** None when the item is not JSON, because a body must stay readable, or a block that only a user sends. */
function itemBlock(item: string): readonly TurnBlock[] {
  const value = valueOf(item);
  if (!isExactObject(value)) return [];
  const { type, container } = value;
  if (isOfUser(value)) return [];
  if (typeof type !== 'string') {
    const id = isExactObject(container) ? textIn(container['id']) : '';
    return id === '' ? [] : [{ kind: 'container', id }];
  }
  const json = new RawJson(item);
  if (type === 'thinking' || type === 'redacted_thinking') return [{ kind: 'thinking', json }];
  const uses = type.endsWith('_tool_use') ? textIn(value['id']) : '';
  const answers = type.endsWith('_tool_result') ? textIn(value['tool_use_id']) : '';
  return [{ kind: 'item', json, uses: uses || null, answers: answers || null }];
}

export const plainText = (text: string): ExactObject => ({ type: 'text', text });

/** Blank texts are refused. */
export const isBlankText = (text: string): boolean => text.trim() === '';

/** Files come before the text that speaks of them. */
export const userBlocks = (text: string, attachments: readonly MessageAttachment[] = []): readonly ExactObject[] => [
  ...attachments.map(fileBlock),
  ...(isBlankText(text) ? [] : [plainText(text)]),
];

const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

function fileBlock({ media_type, name, bytes }: MessageAttachment): ExactObject {
  const source = { type: 'base64', media_type, data: Buffer.from(bytes).toString('base64') };
  if (IMAGES.has(media_type)) return { type: 'image', source };
  if (media_type === 'application/pdf') {
    return {
      type: 'document',
      source,
      ...(name === undefined || isBlankText(name) ? {} : { title: name }),
    };
  }
  return plainText(`[the file ${name ?? 'without a name'} was left out: this API takes no ${media_type}]`);
}

/** A result, and the files that must stand beside it: a result that is an error holds text only. */
export function resultBlocks(message: ToolMessage): {
  readonly result: ExactObject;
  readonly beside: readonly ExactObject[];
} {
  const { call_id, text, is_error, attachments = [] } = message;
  const head = { type: 'tool_result', tool_use_id: call_id };
  if (is_error) {
    const result = { ...head, content: isBlankText(text) ? 'The call failed.' : text, is_error };
    return { result, beside: attachments.map(fileBlock) };
  }
  if (attachments.length === 0) return { result: isBlankText(text) ? head : { ...head, content: text }, beside: [] };
  const content = [...(isBlankText(text) ? [] : [plainText(text)]), ...attachments.map(fileBlock)];
  return { result: { ...head, content }, beside: [] };
}

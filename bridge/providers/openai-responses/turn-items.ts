// A turn of the model as items: exactly those that it was made of when the same API and family of models wrote them, else its
// text and its calls.
import type { LayoutPart } from '../../../schemas/model-turn.ts';
import { foldName, foldedNames, misspells, withoutMisspelled, withoutNames } from '../api/client-names.ts';
import {
  type ExactJson,
  type ExactObject,
  RawJson,
  isExactObject,
  listIn,
  objectIn,
  parseExact,
  textIn,
} from '../api/exact-json.ts';
import { fittingParts } from '../api/layout-fit.ts';
import type { AssistantMessage, MessageCall } from '../provider.ts';

/** What a turn is sent as. The ids of its calls are those of the request. */
interface TurnItems {
  /** In order; none when the turn says nothing. */
  readonly items: readonly ExactJson[];
  /** The ids of calls of custom tools: their results are of another kind. */
  readonly custom: ReadonlySet<string>;
}

/** `atWork`: the server's own calls of earlier turns that have no result yet; the turn adds its own. */
export function turnItems(message: AssistantMessage, model: string, atWork: Set<string>): TurnItems {
  const parts = fittingParts(message, 'openai.responses', model);
  if (parts === null) {
    const said: readonly ExactJson[] = message.text === '' ? [] : [{ role: 'assistant', content: message.text }];
    return { items: [...said, ...message.calls.map((call) => callItem(call, {}))], custom: new Set() };
  }
  const entries = readParts(parts, message, atWork);
  const custom = entries.flatMap((entry) =>
    entry.kind === 'call' && entry.fields['type'] === CUSTOM ? [entry.call.id] : [],
  );
  return { items: writeItems(entries), custom: new Set(custom) };
}

const CUSTOM = 'custom_tool_call';

type Entry =
  | { readonly kind: 'item'; readonly value: ExactJson }
  | { readonly kind: 'reasoning'; readonly value: ExactJson }
  /** Reasoning that cannot be sent. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'call'; readonly fields: ExactObject; readonly call: MessageCall }
  | MessageEntry;

interface MessageEntry {
  readonly kind: 'message';
  readonly fields: ExactObject;
  readonly content: ExactJson[];
  empty: boolean;
}

function readParts(
  parts: readonly LayoutPart[],
  { text, calls }: AssistantMessage,
  atWork: Set<string>,
): readonly Entry[] {
  const entries: Entry[] = [];
  const work = serverWork(parts, atWork);
  let at = 0;
  for (const part of parts) {
    if ('item' in part) entries.push(...itemEntries(part.item, work));
    else if ('call' in part)
      entries.push({ kind: 'call', fields: fieldsOf(part), call: calls[part.call] as MessageCall });
    else {
      const fields = fieldsOf(part);
      const last = entries.at(-1);
      let message = last?.kind === 'message' && fields['message'] === undefined ? last : null;
      if (message === null) {
        const own = withoutNames(objectIn(fields['message']), MESSAGE_NAMES);
        message = { kind: 'message', fields: own, content: [], empty: true };
        entries.push(message);
      }
      const { other } = fields;
      if (other === undefined) {
        message.content.push(contentPart(text.slice(at, at + part.text), objectIn(fields['part'])));
        message.empty &&= part.text === 0;
      } else if (isOfModel({ role: 'assistant', ...objectIn(other) })) {
        message.content.push(other);
        message.empty = false;
      }
      at += part.text;
    }
  }
  return entries;
}

const fieldsOf = (part: LayoutPart): ExactObject =>
  'with' in part && part.with !== undefined ? objectIn(parseExact(part.with)) : {};

const MESSAGE_NAMES = foldedNames('type', 'role', 'content');
const CALL_NAMES = foldedNames('role', 'call_id', 'name', 'arguments', 'input', 'output');

const contentPart = (text: string, further: ExactObject): ExactObject =>
  partOf(text, withoutMisspelled(further, ['type', 'text', 'refusal']));

const partOf = (text: string, part: ExactObject): ExactObject =>
  part['type'] === 'refusal' ? { ...part, refusal: text } : { type: 'output_text', text, ...part };

/** Kinds that may wait for an answer of the client, which refold has none for: the API refuses them without one. */
const WAITING: ReadonlySet<string> = new Set([
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'tool_search_call',
]);

/**
 * Kinds that only a client sends, or that are calls when a model makes them. A server that sent them would speak to the next
 * one in the name of the user, or of a tool.
 */
const OF_CLIENTS = foldedNames(
  'item_reference',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'computer_call_output',
  'local_shell_call_output',
  'mcp_approval_response',
  'additional_tools',
  'input_text',
  'input_image',
  'input_file',
  'input_audio',
  'compaction_trigger',
);

/**
 * None for an item that must not be sent: one that is no model's, a message that says nothing, or a call that waits for its
 * answer.
 */
function itemEntries(item: string, work: ServerWork): readonly Entry[] {
  const fields = objectIn(parseExact(item));
  const type = textIn(fields['type']);
  if (!isOfModel(fields) || (isResult(type) && !work.results.has(item))) return [];
  const value = new RawJson(item);
  if (type === 'reasoning') return [bringsReasoning(fields) ? { kind: type, value } : { kind: 'lost' }];
  if (type === 'message' && listIn(fields['content']).length === 0) return [];
  const ofServer = type === 'tool_search_call' && fields['execution'] !== 'client';
  const waits = WAITING.has(type) && !ofServer && !work.answered.has(textIn(fields['call_id']));
  return waits ? [] : [{ kind: 'item', value }];
}

/** Whether the model's server may say this item. The API reads an item without a type as a message; a message needs a role. */
function isOfModel(fields: ExactObject): boolean {
  const { type, role } = fields;
  if (misspells(fields, ['type', 'role'])) return false;
  if (role !== undefined && role !== 'assistant') return false;
  return typeof type === 'string' ? !OF_CLIENTS.has(foldName(type)) : role === 'assistant';
}

const isResult = (type: string): boolean => /(?:output|result|response)$/.test(foldName(type));

/** What the server did itself in one turn, such as the work of a hosted shell. */
interface ServerWork {
  /** The items that are results of calls before them. */
  readonly results: ReadonlySet<string>;
  /** The ids of these calls. */
  readonly answered: ReadonlySet<string>;
}

/**
 * A result belongs to a call of its kind (`shell_call_output` to `shell_call`) with its id, before it: in the same turn, or in
 * an earlier one for work that goes on while a client answers calls (`program`).
 */
function serverWork(parts: readonly LayoutPart[], open: Set<string>): ServerWork {
  const results = new Set<string>();
  const answered = new Set<string>();
  for (const part of parts) {
    if (!('item' in part)) continue;
    const fields = objectIn(parseExact(part.item));
    const type = textIn(fields['type']);
    if (!isOfModel(fields) || fields['execution'] === 'client') continue;
    const id = textIn(fields['call_id']);
    const call = /^(.+_call)_output$/.exec(type)?.[1] ?? callOfOutput(type);
    if (call === null) open.add(`${type} ${id}`);
    else if (open.delete(`${call} ${id}`)) {
      results.add(part.item);
      if (id !== '') answered.add(id);
    }
  }
  // Such a call without its result does not go back, so that a later result of it would be loose.
  for (const call of open) if (WAITING.has(call.split(' ', 1)[0] ?? '')) open.delete(call);
  return { results, answered };
}

/** `tool_search_output` belongs to `tool_search_call`, and `program_output` to `program`. */
function callOfOutput(type: string): string | null {
  const named = /^(.+)_output$/.exec(type)?.[1];
  return named === undefined ? null : named === 'tool_search' ? 'tool_search_call' : named;
}

// The server keeps nothing, so that an item without its reasoning only names what is not there: OpenAI answers that the item
// was not found. Open models have their reasoning as text.
const bringsReasoning = (item: ExactObject): boolean =>
  textIn(item['encrypted_content']) !== '' ||
  listIn(item['content']).some((part) => isExactObject(part) && textIn(part['text']) !== '');

function writeItems(entries: readonly Entry[]): readonly ExactJson[] {
  const sent = entries.filter((entry) => entry.kind !== 'message' || !entry.empty);
  // OpenAI refuses reasoning that nothing follows.
  const end = sent.findLastIndex(({ kind }) => kind !== 'reasoning' && kind !== 'lost') + 1;
  const items: ExactJson[] = [];
  let lost = false;
  for (const entry of sent.slice(0, end)) {
    if (entry.kind === 'lost') lost = true;
    else if (entry.kind === 'call') items.push(callItem(entry.call, withId(entry.fields, !lost)));
    else if (entry.kind === 'message') items.push(messageItem(entry.content, withId(entry.fields, !lost)));
    else items.push(entry.value);
  }
  return items;
}

// With its id, an item is looked for together with the reasoning before it: without that, it must have none.
function withId({ id, ...rest }: ExactObject, keeps: boolean): ExactObject {
  return keeps && id !== undefined ? { id, ...rest } : rest;
}

const messageItem = (content: readonly ExactJson[], fields: ExactObject): ExactObject => ({
  type: 'message',
  role: 'assistant',
  content,
  ...fields,
});

function callItem({ id, name, arguments: written }: MessageCall, fields: ExactObject): ExactObject {
  const { type, ...further } = withoutMisspelled(fields, ['type']);
  const rest = withoutNames(further, CALL_NAMES);
  const named = { call_id: id, name: allowedName(name) };
  if (type === CUSTOM) return { type, ...named, input: customInput(written), ...rest };
  return { type: 'function_call', ...named, arguments: objectText(written), ...rest };
}

/** The input of a custom tool is the argument `input` of its call. */
function customInput(written: string): string {
  const { input } = parsedObject(written) ?? {};
  return typeof input === 'string' ? input : written;
}

/** The API refuses a whole conversation because of one invalid name that a model made up. */
export const allowedName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

// Compatible servers parse the arguments of earlier calls, and fail when these are no JSON object. What the model wrote is
// wrapped in one; the result of the call states what was wrong.
function objectText(written: string): string {
  if (written.trim() === '') return '{}';
  return parsedObject(written) === null ? JSON.stringify({ invalid_arguments: written }) : written;
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isExactObject(value) ? value : null;
  } catch {
    return null;
  }
}

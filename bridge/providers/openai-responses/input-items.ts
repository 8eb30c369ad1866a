// The conversation as input items. Each user message is one item, each result one, and a turn of the model as many as it was.
import type { ExactJson, ExactObject } from '../api/exact-json.ts';
import { wireIds } from '../api/wire-ids.ts';
import type { AssistantMessage, Message, MessageAttachment, ToolMessage } from '../provider.ts';
import { turnItems } from './turn-items.ts';

/** A window may begin in the middle of a conversation; it is sent with a message of the user at its start. */
export const OPENING = '(The earlier part of this conversation is left out.)';

// The API states a length only; these characters occur in the ids of its servers.
const ID_RULE = { alphabet: /[A-Za-z0-9_.:-]/, max: 64 };

export function inputItems(given: readonly Message[], model: string): readonly ExactJson[] {
  const items: ExactJson[] = [];
  let custom: ReadonlySet<string> = new Set();
  for (const message of inCallOrder(wireIds(given, ID_RULE))) {
    if (message.role === 'tool') items.push(resultItem(message, custom.has(message.call_id)));
    else if (message.role === 'assistant') {
      const turn = turnItems(message, model);
      custom = turn.custom;
      if (items.length === 0 && turn.items.length > 0) items.push({ role: 'user', content: OPENING });
      for (const item of turn.items) items.push(item);
    } else if (message.text !== '' || (message.attachments ?? []).length > 0) {
      items.push({ role: 'user', content: withAttachments(message.text, message.attachments) });
    }
  }
  return items.length === 0 ? [{ role: 'user', content: OPENING }] : items;
}

/** The results after a turn in the order of its calls. */
function inCallOrder(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = [];
  let turn: AssistantMessage | null = null;
  let results: ToolMessage[] = [];
  const flush = (): void => {
    const place = new Map(turn?.calls.map(({ id }, index) => [id, index]));
    const placeOf = ({ call_id }: ToolMessage): number => place.get(call_id) ?? place.size;
    ordered.push(...results.sort((a, b) => placeOf(a) - placeOf(b)));
    results = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(message);
      continue;
    }
    flush();
    if (message.role === 'assistant') turn = message;
    ordered.push(message);
  }
  flush();
  return ordered;
}

// The API has no flag for a failure: its text says so first.
const ERROR_MARK = 'Error: ';

function resultItem({ call_id, text, is_error, attachments }: ToolMessage, custom: boolean): ExactObject {
  return {
    type: custom ? 'custom_tool_call_output' : 'function_call_output',
    call_id,
    output: withAttachments(is_error ? `${ERROR_MARK}${text}` : text, attachments),
  };
}

/** The text alone, or a list of parts when there is more. */
function withAttachments(text: string, attachments: readonly MessageAttachment[] = []): string | readonly ExactJson[] {
  if (attachments.length === 0) return text;
  return [...(text === '' ? [] : [{ type: 'input_text', text }]), ...attachments.map(attachmentPart)];
}

const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

function attachmentPart({ media_type, name, bytes }: MessageAttachment): ExactObject {
  const url = (): string => `data:${media_type};base64,${Buffer.from(bytes).toString('base64')}`;
  if (IMAGES.has(media_type)) return { type: 'input_image', image_url: url(), detail: 'auto' };
  if (media_type === 'application/pdf') return { type: 'input_file', filename: name ?? 'file.pdf', file_data: url() };
  const file = `${name === undefined ? 'A file' : `The file ${name}`} (${media_type}, ${bytes.length} bytes)`;
  return { type: 'input_text', text: `[${file} is left out: the API takes PNG, JPEG, GIF, WebP and PDF.]` };
}

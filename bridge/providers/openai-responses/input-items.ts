// The conversation as input items. Each user message is one item, each result one, and a turn of the model as many as it was.
import type { ExactJson, ExactObject } from '../api/exact-json.ts';
import { wireIds } from '../api/wire-ids.ts';
import type { Message, MessageAttachment, ToolMessage } from '../provider.ts';
import { turnItems } from './turn-items.ts';

/** A window may begin in the middle of a conversation; it is sent with a message of the user at its start. */
const OPENING = '[The beginning of this conversation is left out.]';

// The API states a length only; these characters occur in the ids of its servers.
const ID_RULE = { alphabet: /[A-Za-z0-9_.:-]/, max: 64 };

export function inputItems(given: readonly Message[], model: string): readonly ExactJson[] {
  const items: ExactJson[] = [];
  let custom: ReadonlySet<string> = new Set();
  const atWork = new Set<string>();
  for (const message of withResults(wireIds(given, ID_RULE))) {
    if (message.role === 'tool') items.push(resultItem(message, custom.has(message.call_id)));
    else if (message.role === 'assistant') {
      const turn = turnItems(message, model, atWork);
      custom = turn.custom;
      if (items.length === 0 && turn.items.length > 0) items.push({ role: 'user', content: OPENING });
      for (const item of turn.items) items.push(item);
    } else if (message.text !== '' || (message.attachments ?? []).length > 0) {
      items.push({ role: 'user', content: withAttachments(message.text, message.attachments) });
    }
  }
  return items.length === 0 ? [{ role: 'user', content: OPENING }] : items;
}

/** Each turn followed by one result for each of its calls, in call order: the API refuses a request with any other. */
function withResults(messages: readonly Message[]): readonly Message[] {
  const results = new Map<string, ToolMessage>();
  for (const message of messages) if (message.role === 'tool') results.set(message.call_id, message);
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'user') return [message];
    if (message.role === 'tool') return [];
    return [message, ...message.calls.map(({ id, name }) => results.get(id) ?? noResult(id, name))];
  });
}

const noResult = (call_id: string, name: string): ToolMessage => ({
  role: 'tool',
  call_id,
  name,
  text: 'there is no result of this call',
  is_error: true,
});

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

// The conversation as a model is shown it: pages and large texts fetched, and every call paired with one result,
// whatever the window cut off (DESIGN section 2, law 5).
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../schemas/canonical.ts';
import { decode } from '../schemas/codec.ts';
import { type Content, isInline } from '../schemas/content.ts';
import type { Digest } from '../schemas/ids.ts';
import { BLOB_BYTES_MAX, OUTPUT_BYTES_MAX } from '../schemas/limits.ts';
import { parseJson } from '../schemas/json.ts';
import type { Rejection } from '../schemas/rejection.ts';
import { type TranscriptEntry, TranscriptPage, type TranscriptState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { Message, MessageCall } from './providers/provider.ts';

type ReadBlob = (ref: Digest) => Promise<Either<Rejection, Uint8Array>>;
type ToolMessage = Extract<Message, { readonly role: 'tool' }>;
type AssistantMessage = Extract<Message, { readonly role: 'assistant' }>;

/** The window's messages, or why a page of it cannot be read. A text that cannot be read is named in its place. */
export async function renderTranscript(
  transcript: TranscriptState,
  readBlob: ReadBlob,
): Promise<Either<Rejection, readonly Message[]>> {
  const messages: Message[] = [];
  for (const ref of transcript.sealed) {
    const page = await renderPage(ref, readBlob);
    if (isLeft(page)) return page;
    messages.push(...page.right);
  }
  messages.push(...(await renderEntries(transcript.open, readBlob)));
  return right(pairResults(messages));
}

/** The text of any content; where it cannot be read, its excerpts and a line that says so. */
export async function textOf(content: Content, readBlob: ReadBlob, bytesMax: number = BLOB_BYTES_MAX): Promise<string> {
  if (isInline(content)) return content.text;
  const { ref, bytes, head, tail } = content;
  if (bytes > bytesMax) return `${head}\n[${bytes} bytes, too much to show: blob ${ref}]\n${tail}`;
  const blob = await readBlob(ref);
  if (isLeft(blob))
    return `${head}\n[${bytes} bytes that cannot be read now (${blob.left.code}): blob ${ref}]\n${tail}`;
  return new TextDecoder().decode(blob.right);
}

// By the bytes of the page, as long as somebody keeps them: every generate reads the same pages again.
const pages = new WeakMap<Uint8Array, readonly Message[]>();

async function renderPage(ref: Digest, readBlob: ReadBlob): Promise<Either<Rejection, readonly Message[]>> {
  const blob = await readBlob(ref);
  if (isLeft(blob)) return left(blob.left);
  const known = pages.get(blob.right);
  if (known !== undefined) return right(known);
  const parsed = parseJson(new TextDecoder().decode(blob.right), BLOB_BYTES_MAX);
  if (isLeft(parsed)) return parsed;
  const decoded = decode(TranscriptPage, parsed.right);
  if (isLeft(decoded)) return decoded;
  const { entries } = decoded.right;
  const rendered = await renderEntries(entries, readBlob);
  // A text that could not be read now may be there the next time.
  if (entries.every(isWhole)) pages.set(blob.right, rendered);
  return right(rendered);
}

/** Everything it says is in the entry itself. */
const isWhole = ({ content, calls = [] }: TranscriptEntry): boolean =>
  (content === undefined || isInline(content)) &&
  calls.every(({ arguments_ref }) => arguments_ref === undefined || isInline(arguments_ref));

async function renderEntries(entries: readonly TranscriptEntry[], readBlob: ReadBlob): Promise<readonly Message[]> {
  // Blobs are fetched side by side; without any, side by side is only dearer.
  if (!entries.every(isWhole)) return await Promise.all(entries.map((entry) => renderEntry(entry, readBlob)));
  const messages: Message[] = [];
  for (const entry of entries) messages.push(await renderEntry(entry, readBlob));
  return messages;
}

async function renderEntry(entry: TranscriptEntry, readBlob: ReadBlob): Promise<Message> {
  const { role, content } = entry;
  const bytesMax = role === 'tool' ? OUTPUT_BYTES_MAX : BLOB_BYTES_MAX;
  const text = content === undefined ? '' : await textOf(content, readBlob, bytesMax);
  if (role === 'user') return { role, text };
  if (role === 'assistant') {
    const calls = await Promise.all((entry.calls ?? []).map((call) => renderCall(call, readBlob)));
    return { role, text, calls };
  }
  const { call_id = '', tool_name = '', is_error = false } = entry;
  return { role, call_id, name: tool_name, text, is_error };
}

async function renderCall(call: ToolCallObserved, readBlob: ReadBlob): Promise<MessageCall> {
  const { call_id, tool_name, arguments_text, arguments_ref } = call;
  const written = arguments_text ?? (arguments_ref === undefined ? undefined : await textOf(arguments_ref, readBlob));
  return { id: call_id, name: tool_name, arguments: written ?? canonicalText(call.arguments ?? {}) };
}

/** Each assistant message is followed by one result for each of its calls, in call order, and by no other. */
export function pairResults(messages: readonly Message[]): readonly Message[] {
  const paired: Message[] = [];
  for (const [index, message] of messages.entries()) {
    // A result that no call before it asked for lost its question to the window.
    if (message.role === 'tool') continue;
    paired.push(message);
    if (message.role === 'assistant') paired.push(...resultsOf(message, messages, index + 1));
  }
  return paired;
}

function resultsOf(asked: AssistantMessage, messages: readonly Message[], from: number): readonly ToolMessage[] {
  const results = new Map<string, ToolMessage>();
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== 'tool') break;
    if (!results.has(message.call_id)) results.set(message.call_id, message);
  }
  return asked.calls.map(
    ({ id, name }) =>
      results.get(id) ?? { role: 'tool', call_id: id, name, text: 'error: no result was recorded', is_error: true },
  );
}

// The conversation as a model is shown it: pages and large texts fetched, and every call paired with one result,
// whatever the window cut off (DESIGN section 2, law 5).
import { type Either, isLeft, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import { type Content, isInline } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, OUTPUT_BYTES_MAX } from '../../schemas/limits.ts';
import { parseJson } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type TranscriptEntry, TranscriptPage, type TranscriptState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { type MessagePage, pageOf, pairPages } from './message-pages.ts';
import type { Message, MessageCall } from '../providers/provider.ts';

type ReadBlob = (ref: Digest) => Promise<Either<Rejection, Uint8Array>>;

/**
 * The messages of an effect's `transcript`: sealed pages and large texts fetched, every call followed by one result. Left:
 * why a page cannot be read. A text that cannot be read is named in its place.
 */
export async function renderTranscript(
  transcript: TranscriptState,
  blobs: TranscriptBlobs,
): Promise<Either<Rejection, readonly Message[]>> {
  const pages: MessagePage[] = [];
  for (const ref of transcript.sealed) {
    const page = knownPage(blobs.kept?.(ref) ?? null) ?? (await renderPage(ref, blobs.read));
    if (isLeft(page)) return page;
    pages.push(page.right);
  }
  pages.push(pageOf(await renderEntries(transcript.open, blobs.read)));
  return right(pairPages(pages));
}

/** Where pages and large texts are. */
export interface TranscriptBlobs {
  /** Such as `(ref) => client.getBlob(ref)()`. */
  readonly read: ReadBlob;
  /** The bytes, when they are at hand; every generate reads the same pages again, and need not wait for them. */
  readonly kept?: (ref: Digest) => Uint8Array | null;
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
const pages = new WeakMap<Uint8Array, MessagePage>();

function knownPage(bytes: Uint8Array | null): Either<never, MessagePage> | null {
  const known = bytes === null ? undefined : pages.get(bytes);
  return known === undefined ? null : right(known);
}

async function renderPage(ref: Digest, readBlob: ReadBlob): Promise<Either<Rejection, MessagePage>> {
  const blob = await readBlob(ref);
  if (isLeft(blob)) return blob;
  const parsed = parseJson(new TextDecoder().decode(blob.right), BLOB_BYTES_MAX);
  if (isLeft(parsed)) return parsed;
  const decoded = decode(TranscriptPage, parsed.right);
  if (isLeft(decoded)) return decoded;
  const { entries } = decoded.right;
  const page = pageOf(await renderEntries(entries, readBlob));
  // A text that could not be read now may be there the next time.
  if (entries.every(isWhole)) pages.set(blob.right, page);
  return right(page);
}

/** Everything it says is in the entry itself. */
const isWhole = ({ content, calls = [] }: TranscriptEntry): boolean =>
  (content === undefined || isInline(content)) &&
  calls.every(({ arguments_ref }) => arguments_ref === undefined || isInline(arguments_ref));

async function renderEntries(entries: readonly TranscriptEntry[], readBlob: ReadBlob): Promise<readonly Message[]> {
  const messages: Message[] = [];
  const fetched: Promise<void>[] = [];
  for (const [index, entry] of entries.entries()) {
    const known = rendered.get(entry);
    if (known !== undefined) messages[index] = known;
    else if (isWhole(entry)) messages[index] = renderWhole(entry);
    else fetched.push(fetchEntry(entry, readBlob).then((message) => void (messages[index] = message)));
  }
  // Blobs are fetched side by side; mostly there are none.
  if (fetched.length > 0) await Promise.all(fetched);
  return messages;
}

// An entry of the open page is the same object in the next generate where engine and bridge share a process.
const rendered = new WeakMap<TranscriptEntry, Message>();

function renderWhole(entry: TranscriptEntry): Message {
  const { role, content } = entry;
  const text = content === undefined || !isInline(content) ? '' : content.text;
  const message = messageOf(entry, text, role === 'assistant' ? (entry.calls ?? []).map(wholeCall) : []);
  if (Object.isFrozen(entry)) rendered.set(entry, message);
  return message;
}

async function fetchEntry(entry: TranscriptEntry, readBlob: ReadBlob): Promise<Message> {
  const { role, content, calls = [] } = entry;
  const bytesMax = role === 'tool' ? OUTPUT_BYTES_MAX : BLOB_BYTES_MAX;
  const text = content === undefined ? '' : await textOf(content, readBlob, bytesMax);
  return messageOf(entry, text, await Promise.all(calls.map((call) => fetchCall(call, readBlob))));
}

function messageOf(entry: TranscriptEntry, text: string, calls: readonly MessageCall[]): Message {
  const { role, call_id = '', tool_name = '', is_error = false } = entry;
  if (role === 'user') return { role, text };
  return role === 'assistant' ? { role, text, calls } : { role, call_id, name: tool_name, text, is_error };
}

function wholeCall(call: ToolCallObserved): MessageCall {
  const { arguments_text, arguments_ref } = call;
  const inline = arguments_ref !== undefined && isInline(arguments_ref) ? arguments_ref.text : undefined;
  return callOf(call, arguments_text ?? inline);
}

async function fetchCall(call: ToolCallObserved, readBlob: ReadBlob): Promise<MessageCall> {
  const { arguments_text, arguments_ref } = call;
  const written = arguments_text ?? (arguments_ref === undefined ? undefined : await textOf(arguments_ref, readBlob));
  return callOf(call, written);
}

const callOf = ({ call_id, tool_name, arguments: value }: ToolCallObserved, written?: string): MessageCall => ({
  id: call_id,
  name: tool_name,
  arguments: written ?? canonicalText(value ?? {}),
});

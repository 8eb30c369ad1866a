// Renders the conversation for a model: fetches pages and large texts, and pairs every call with one result, whatever the
// window cut off (docs/design.md, law 5).
import * as E from 'fp-ts/lib/Either.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { pipe } from 'fp-ts/lib/function.js';
import { canonicalText } from '../../schemas/canonical.ts';
import { decode } from '../../schemas/codec.ts';
import { type Content, isInline } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, LAYOUT_BYTES_MAX, OUTPUT_BYTES_MAX } from '../../schemas/limits.ts';
import { parseJson } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type TranscriptEntry, TranscriptPage, type TranscriptState } from '../../schemas/state.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { argumentsOf } from '../../src/core/index.ts';
import { noteFiles, withFileNames, withFiles } from './attached-files.ts';
import { recordedParts } from './layout.ts';
import { type MessagePage, messagePageOf, pairPages } from './message-pages.ts';
import type { Message, MessageCall } from '../providers/provider.ts';

type ReadBlob = (ref: Digest) => Promise<E.Either<Rejection, Uint8Array>>;

/**
 * The messages of an effect's `transcript`, with sealed pages, large texts and attachments fetched and every call followed
 * by one result. Left: why a page cannot be read. A text that cannot be read is replaced by its excerpts and a note. An
 * attachment that cannot be read, or is too much for one request, is named in the text.
 */
export async function renderTranscript(
  transcript: TranscriptState,
  blobs: TranscriptBlobs,
): Promise<E.Either<Rejection, readonly Message[]>> {
  const { summary } = transcript;
  const pages: MessagePage[] =
    summary === undefined ? [] : [messagePageOf([summaryMessage(await textOf(summary.content, blobs.read))])];
  for (const ref of transcript.sealed) {
    const page = knownPage(blobs.kept?.(ref) ?? null) ?? (await readPage(ref, blobs.read));
    if (E.isLeft(page)) return page;
    pages.push(page.right);
  }
  pages.push(messagePageOf(await renderEntries(transcript.open, blobs.read)));
  const messages = pairPages(pages);
  if (!pages.some((page) => page.hasFiles)) return E.right(messages);
  return E.right(blobs.files === 'named' ? await withFileNames(messages) : await withFiles(messages, blobs));
}

/** What a model is shown in place of the messages that a summary stands for. */
const summaryMessage = (summary: string): Message => ({
  role: 'user',
  text: `[The earlier part of this conversation was replaced by this summary.]\n\n${summary}`,
});

/** Reads pages and large texts. */
export interface TranscriptBlobs {
  /** Such as `(ref) => client.getBlob(ref)()`. */
  readonly read: ReadBlob;
  /** The bytes when they are cached, so that a generate need not wait for pages that an earlier one has read. */
  readonly kept?: (ref: Digest) => Uint8Array | null;
  /** `named`: attachments are not read; the texts name them. */
  readonly files?: 'sent' | 'named';
  /** Whether a file must not be sent, because it holds a secret. */
  readonly withheld?: (bytes: Uint8Array, ref: Digest) => Promise<boolean>;
}

/** The text of any content; when it cannot be read, its excerpts and a note. */
export async function textOf(content: Content, readBlob: ReadBlob, bytesMax: number = BLOB_BYTES_MAX): Promise<string> {
  if (isInline(content)) return content.text;
  const { ref, bytes, head, tail } = content;
  if (bytes > bytesMax) return `${head}\n[${bytes} bytes, too much to show: blob ${ref}]\n${tail}`;
  const blob = await readBlob(ref);
  if (E.isLeft(blob))
    return `${head}\n[${bytes} bytes that cannot be read now (${blob.left.code}): blob ${ref}]\n${tail}`;
  return new TextDecoder().decode(blob.right);
}

// Rendered pages by their bytes, as long as these are cached: every generate reads the same pages again.
const renderedPages = new WeakMap<Uint8Array, MessagePage>();

function knownPage(bytes: Uint8Array | null): E.Either<never, MessagePage> | null {
  const known = bytes === null ? undefined : renderedPages.get(bytes);
  return known === undefined ? null : E.right(known);
}

const readPage = (ref: Digest, readBlob: ReadBlob): Promise<E.Either<Rejection, MessagePage>> =>
  pipe(
    TE.Do,
    TE.bind('bytes', () => () => readBlob(ref)),
    TE.bind('page', ({ bytes }) => TE.fromEither(decodePage(bytes))),
    TE.chain(({ bytes, page }) => TE.fromTask(() => renderPage(bytes, page.entries, readBlob))),
  )();

const decodePage = (bytes: Uint8Array): E.Either<Rejection, TranscriptPage> =>
  pipe(
    parseJson(new TextDecoder().decode(bytes), BLOB_BYTES_MAX),
    E.chain((value) => decode(TranscriptPage, value)),
  );

async function renderPage(
  bytes: Uint8Array,
  entries: readonly TranscriptEntry[],
  readBlob: ReadBlob,
): Promise<MessagePage> {
  const page = messagePageOf(await renderEntries(entries, readBlob));
  // A text that cannot be read now may be available to the next generate.
  if (entries.every(isWhole)) renderedPages.set(bytes, page);
  return page;
}

/** The entry holds all its text itself. */
const isWhole = ({ content, calls = [], layout }: TranscriptEntry): boolean =>
  (content === undefined || isInline(content)) &&
  (layout === undefined || isInline(layout.parts)) &&
  calls.every(({ arguments_ref }) => arguments_ref === undefined || isInline(arguments_ref));

async function renderEntries(entries: readonly TranscriptEntry[], readBlob: ReadBlob): Promise<readonly Message[]> {
  const messages: Message[] = [];
  const fetched: Promise<void>[] = [];
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index] as TranscriptEntry;
    const known = renderedEntries.get(entry);
    if (known !== undefined) messages[index] = known;
    else if (isWhole(entry)) messages[index] = renderWhole(entry);
    else fetched.push(fetchEntry(entry, readBlob).then((message) => void (messages[index] = message)));
  }
  // Blobs are fetched concurrently; mostly there are none.
  if (fetched.length > 0) await Promise.all(fetched);
  return messages;
}

// When engine and bridge share a process, an entry of the open page is the same object in the next generate.
const renderedEntries = new WeakMap<TranscriptEntry, Message>();

function renderWhole(entry: TranscriptEntry): Message {
  const { role, content, calls = [], layout } = entry;
  const text = content === undefined || !isInline(content) ? '' : content.text;
  const parts = layout !== undefined && isInline(layout.parts) ? layout.parts.text : null;
  const message = messageOf(entry, { text, parts, calls: role === 'assistant' ? calls.map(wholeCall) : [] });
  if (Object.isFrozen(entry)) renderedEntries.set(entry, message);
  return message;
}

async function fetchEntry(entry: TranscriptEntry, readBlob: ReadBlob): Promise<Message> {
  const { role, content, calls = [], layout } = entry;
  const bytesMax = role === 'tool' ? OUTPUT_BYTES_MAX : BLOB_BYTES_MAX;
  const text = content === undefined ? '' : await textOf(content, readBlob, bytesMax);
  const parts = layout === undefined ? null : await textOf(layout.parts, readBlob, LAYOUT_BYTES_MAX);
  return messageOf(entry, { text, parts, calls: await Promise.all(calls.map((call) => fetchCall(call, readBlob))) });
}

/** The texts of an entry. */
interface EntryTexts {
  readonly text: string;
  readonly calls: readonly MessageCall[];
  /** The parts of its layout, as JSON; null without one. */
  readonly parts: string | null;
}

function messageOf(entry: TranscriptEntry, { text, calls, parts: recorded }: EntryTexts): Message {
  const { role, call_id = '', tool_name = '', is_error = false, layout, attachments } = entry;
  if (role === 'user') return noteFiles({ role, text }, attachments);
  if (role === 'tool') return noteFiles({ role, call_id, name: tool_name, text, is_error }, attachments);
  const parts = recorded === null ? null : recordedParts(recorded, { text, calls });
  if (layout === undefined || parts === null) return { role, text, calls };
  return { role, text, calls, layout: { api: layout.api, model: layout.model, parts } };
}

/** A call whose arguments are in no blob. */
function wholeCall(call: ToolCallObserved): MessageCall {
  const given = argumentsOf(call);
  return callOf(call, 'arguments_ref' in given && isInline(given.arguments_ref) ? given.arguments_ref.text : null);
}

async function fetchCall(call: ToolCallObserved, readBlob: ReadBlob): Promise<MessageCall> {
  const given = argumentsOf(call);
  return callOf(call, 'arguments_ref' in given ? await textOf(given.arguments_ref, readBlob) : null);
}

/** `stored` is the text of arguments that the call does not have itself. */
function callOf(call: ToolCallObserved, stored: string | null): MessageCall {
  const { call_id, tool_name, provider_call_id } = call;
  const given = argumentsOf(call);
  const own =
    'arguments_text' in given ? given.arguments_text : canonicalText('arguments' in given ? given.arguments : {});
  return {
    id: call_id,
    ...(provider_call_id === undefined ? {} : { provider_id: provider_call_id }),
    name: tool_name,
    arguments: stored ?? own,
  };
}

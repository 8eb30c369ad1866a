// Adds the attachments to the rendered messages of one request. Rendered messages are cached and hold no bytes of files:
// the bytes are read for each request, as many as one request may have, the newest first.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Attachment, Attachments } from '../../schemas/content.ts';
import type { Digest } from '../../schemas/ids.ts';
import { REQUEST_FILES_MAX, REQUEST_FILE_BYTES_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Message, MessageAttachment } from '../providers/provider.ts';

type ReadBlob = (ref: Digest) => Promise<Either<Rejection, Uint8Array>>;

const attachedTo = new WeakMap<Message, Attachments>();

/** Remembers what is attached to a rendered message, and returns the message. */
export function noteFiles<M extends Message>(message: M, attachments: Attachments | undefined): M {
  if (attachments !== undefined) attachedTo.set(message, attachments);
  return message;
}

/** Whether the message has files. */
export const hasFiles = (message: Message): boolean => attachedTo.has(message);

export interface FileSource {
  readonly read: ReadBlob;
  /** Whether a file must not be sent, because it holds a secret. */
  readonly withheld?: (bytes: Uint8Array, ref: Digest) => Promise<boolean>;
}

/** The messages with their files, read; the text of a message names those that are left out, and why. */
export async function withFiles(messages: readonly Message[], source: FileSource): Promise<readonly Message[]> {
  const sent = newestFiles(messages);
  return await mapAttached(messages, (message, attachments) => withFilesOf(message, { attachments, sent, source }));
}

/** The messages with their files named in their texts, for a request without files. */
export const withFileNames = (messages: readonly Message[]): Promise<readonly Message[]> =>
  mapAttached(messages, (message, attachments) =>
    Promise.resolve(
      withNotes(
        message,
        attachments.map((attachment) => `[${nameOf(attachment)} is attached.]`),
      ),
    ),
  );

async function mapAttached(
  messages: readonly Message[],
  change: (message: Attachable, attachments: Attachments) => Promise<Message>,
): Promise<readonly Message[]> {
  return await Promise.all(
    messages.map(async (message) => {
      const attachments = attachedTo.get(message);
      return attachments === undefined || message.role === 'assistant' ? message : await change(message, attachments);
    }),
  );
}

type Attachable = Exclude<Message, { readonly role: 'assistant' }>;

/** From the newest message to the oldest, the attachments that fit into one request. */
function newestFiles(messages: readonly Message[]): ReadonlySet<Attachment> {
  const sent = new Set<Attachment>();
  let bytes = 0;
  for (const message of messages.toReversed()) {
    for (const attachment of attachedTo.get(message) ?? []) {
      if (sent.size >= REQUEST_FILES_MAX || bytes + attachment.bytes > REQUEST_FILE_BYTES_MAX) continue;
      sent.add(attachment);
      bytes += attachment.bytes;
    }
  }
  return sent;
}

interface Reading {
  readonly attachments: Attachments;
  readonly sent: ReadonlySet<Attachment>;
  readonly source: FileSource;
}

async function withFilesOf(message: Attachable, { attachments, sent, source }: Reading): Promise<Message> {
  const read = await Promise.all(
    attachments.map(async (attachment): Promise<MessageAttachment | string> => {
      if (!sent.has(attachment)) return `[${nameOf(attachment)} is left out: ${TOO_MUCH}]`;
      const blob = await source.read(attachment.ref);
      if (isLeft(blob)) return `[${nameOf(attachment)} cannot be read now (${blob.left.code}).]`;
      if ((await source.withheld?.(blob.right, attachment.ref)) === true)
        return `[${nameOf(attachment)} is left out: it holds a secret.]`;
      const { media_type, name } = attachment;
      return { media_type, ...(name === undefined ? {} : { name }), bytes: blob.right };
    }),
  );
  const files = read.filter((file) => typeof file !== 'string');
  const noted = withNotes(
    message,
    read.filter((file) => typeof file === 'string'),
  );
  return files.length === 0 ? noted : { ...noted, attachments: files };
}

const TOO_MUCH = `a request has the newest ${REQUEST_FILES_MAX} files, with at most ${REQUEST_FILE_BYTES_MAX} bytes.`;

const withNotes = (message: Attachable, notes: readonly string[]): Attachable =>
  notes.length === 0
    ? message
    : { ...message, text: [...(message.text === '' ? [] : [message.text]), ...notes].join('\n') };

const nameOf = ({ name, media_type, bytes }: Attachment): string =>
  `${name === undefined ? 'A file' : `The file ${name}`} (${media_type}, ${bytes} bytes)`;

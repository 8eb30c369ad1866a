// The bytes of a request, made in slices: files in base64 are most of a large one, and made at once they would hold the event
// loop for hundreds of milliseconds. A dialect writes the request with a short stand-in for each file, and the file takes its
// place afterwards: the bytes are those that the dialect alone would have written.
import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Digest, brand } from '../../../schemas/ids.ts';
import type { GenerateRequest, Message, MessageAttachment } from '../provider.ts';
import type { Dialect, RequestTarget, WireRequest } from './dialect.ts';

/** A request with its body in UTF-8. */
export interface WireBytes extends Omit<WireRequest, 'body'> {
  readonly body: Buffer;
}

/** A multiple of three, so that the base64 of the slices is that of the whole. */
const FILE_SLICE_BYTES = 3 * 131_072;
const SLICE_BYTES = 524_288;
/** A multiple of three as well: the base64 of a stand-in has no padding. */
const STAND_IN_BYTES = 24;

/** Throws what the dialect throws. */
export async function encodeInSlices(
  dialect: Dialect,
  request: GenerateRequest,
  target: RequestTarget,
): Promise<WireBytes> {
  const files = new Map<string, Uint8Array>();
  const { body, ...wire } = dialect.encode(withStandIns(request, files), target);
  if (files.size === 0) return { ...wire, body: Buffer.from(body, 'utf8') };
  const parts = body.split(new RegExp(`(${[...files.keys()].join('|').replaceAll('+', '\\+')})`));
  const size = parts.reduce((sum, part) => sum + sizeOf(files.get(part) ?? part), 0);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const part of parts) {
    const file = files.get(part);
    if (file === undefined) at += bytes.write(part, at, 'utf8');
    else at = await writeFile(bytes, at, file);
  }
  return { ...wire, body: bytes };
}

const sizeOf = (part: string | Uint8Array): number =>
  typeof part === 'string' ? Buffer.byteLength(part, 'utf8') : 4 * Math.ceil(part.length / 3);

async function writeFile(into: Buffer, start: number, file: Uint8Array): Promise<number> {
  let at = start;
  for (let from = 0; from < file.length; from += FILE_SLICE_BYTES) {
    at += into.write(Buffer.from(file.subarray(from, from + FILE_SLICE_BYTES)).toString('base64'), at, 'latin1');
    await nextTurn();
  }
  return at;
}

/** The request with random bytes for each larger file; `files` then has each file by the base64 of what stands for it. */
function withStandIns(request: GenerateRequest, files: Map<string, Uint8Array>): GenerateRequest {
  const standIn = (attachment: MessageAttachment): MessageAttachment => {
    if (attachment.bytes.length <= FILE_SLICE_BYTES) return attachment;
    const bytes = randomBytes(STAND_IN_BYTES);
    files.set(bytes.toString('base64'), attachment.bytes);
    return { ...attachment, bytes };
  };
  const messages = request.messages.map((message): Message =>
    message.role === 'assistant' || message.attachments === undefined
      ? message
      : { ...message, attachments: message.attachments.map(standIn) },
  );
  return { ...request, messages };
}

/** The digest of bytes, as `digestText` gives it. */
export async function digestInSlices(bytes: Buffer): Promise<Digest> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    hash.update(bytes.subarray(at, at + SLICE_BYTES));
  }
  return brand<'Digest'>(`sha256:${hash.digest('hex')}`);
}

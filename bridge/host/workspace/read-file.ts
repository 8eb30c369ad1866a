// host.fs.read_file: reads a range of a file, as text or as base64. A whole image or PDF is shown to the model itself.
import { posix } from 'node:path';
import { sniffMediaType } from '../../../schemas/content.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalChoice, optionalCount, requiredText } from '../arguments.ts';
import { ATTACHMENT_BYTES_MAX, ATTACHMENT_NAME_CHARS_MAX, OUTPUT_BYTES_MIN } from '../../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import type { OpenFile } from './open-file.ts';
import type { WorkspacePath } from './path-name.ts';
import { decodeUtf8, readRange, withFile } from './workspace.ts';

/** Reserved for the line that says where to continue reading. */
const NOTE_BYTES = 160;
/** The longest UTF-8 character. */
const CHARACTER_BYTES = 4;

export function readFileTool(args: JsonObject, { workspace, redactor }: HostParts, call: HostCallContext): HostOutcome {
  const path = workspace.parse(requiredText(args, 'path'));
  const encoding = optionalChoice(args, 'encoding', ['utf8', 'bytes']);
  const offset = optionalCount(args, 'offset_bytes', 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const room = Math.max(call.outputBytesMax, OUTPUT_BYTES_MIN) - NOTE_BYTES;
  // Three bytes are four base64 digits.
  const roomBytes = encoding === 'bytes' ? Math.floor(room / 4) * 3 : room;
  const bytesMax = Math.min(optionalCount(args, 'max_bytes', 1, roomBytes) ?? roomBytes, roomBytes);
  return withFile(workspace, path, (file) => {
    const window = windowOf(file, offset, bytesMax, Math.max(redactor.reach, CHARACTER_BYTES));
    const read = encoding === 'utf8' ? asText(window, redactor) : asBase64(window, redactor);
    if (read !== null) return describe(read, path, file.stats.size);
    const isWhole = args['offset_bytes'] === undefined && args['max_bytes'] === undefined;
    const shown = isWhole ? asShown(file, path, redactor) : null;
    if (shown !== null) return shown;
    throw new ToolFault(
      'invalid_utf8',
      `${path.shown} is not UTF-8 text in this range; read it with encoding "bytes" (base64)`,
    );
  });
}

/** An image or a PDF by its first bytes, whole; null for any other file, a large one, and one that holds a secret. */
function asShown({ fd, stats }: OpenFile, path: WorkspacePath, redactor: Redactor): HostOutcome | null {
  if (stats.size > ATTACHMENT_BYTES_MAX) return null;
  const bytes = readRange(fd, 0, stats.size);
  const media_type = sniffMediaType(bytes);
  if (media_type === null || redactor.has(bytes)) return null;
  const name = posix.basename(path.shown).slice(0, ATTACHMENT_NAME_CHARS_MAX).toWellFormed();
  const read = { offset_bytes: 0, read_bytes: bytes.length, truncated: false };
  const data = { path: path.shown, size_bytes: stats.size, ...read };
  return {
    ...succeeded(`[${path.shown}: ${media_type}, ${bytes.length} bytes; attached]`, data),
    shown: [{ bytes, media_type, name }],
  };
}

interface FileWindow {
  /** The window, with some bytes on both sides to find whole characters and whole secrets. */
  readonly bytes: Buffer;
  readonly base: number;
  readonly start: number;
  readonly end: number;
}

interface Read {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function windowOf({ fd, stats }: OpenFile, offset: number, bytesMax: number, reach: number): FileWindow {
  const start = Math.min(offset, stats.size);
  const end = Math.min(start + bytesMax, stats.size);
  const base = Math.max(0, start - reach);
  const bytes = readRange(fd, base, Math.min(stats.size, end + reach) - base);
  // The file may have shrunk since: the window then ends where its bytes end.
  return { bytes, base, start, end: Math.max(start, Math.min(end, base + bytes.length)) };
}

// A window that begins or ends inside a character is moved to whole characters, so that reading on from `end` loses
// nothing. It has at least one character, so that reading on always ends. Null when the bytes are not UTF-8.
function asText(window: FileWindow, redactor: Redactor): Read | null {
  const { bytes, base } = window;
  const first = window.start - base;
  let start = first;
  while (start - first < CHARACTER_BYTES - 1 && base + start > 0 && isContinuation(bytes[start])) start += 1;
  let end = Math.max(start, window.end - base);
  while (end > start && isContinuation(bytes[end])) end -= 1;
  if (end === start && end < bytes.length) {
    do end += 1;
    while (end - start < CHARACTER_BYTES && isContinuation(bytes[end]));
  }
  if (decodeUtf8(bytes.subarray(start, end)) === null) return null;
  const text = decodeUtf8(redactor.window(bytes, start, end)) ?? '';
  return { text, start: base + start, end: base + end };
}

function asBase64({ bytes, base, start, end }: FileWindow, redactor: Redactor): Read {
  return { text: redactor.window(bytes, start - base, end - base).toString('base64'), start, end };
}

function describe({ text, start, end }: Read, path: WorkspacePath, size: number): HostOutcome {
  const truncated = end < size;
  const data = { path: path.shown, size_bytes: size, offset_bytes: start, read_bytes: end - start, truncated };
  if (end === start) {
    const why = size === 0 ? 'the file is empty' : `nothing after byte ${start}; the file has ${size} bytes`;
    return succeeded(`(${why})`, data);
  }
  const note = `[bytes ${start} to ${end} of ${size}; read on with offset_bytes ${end}]`;
  return succeeded(truncated ? `${text}\n${note}` : text, data);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

// Text that a model reads or wrote: inline when it is small, otherwise a blob named by its digest. State holds
// references to blobs, never their bytes (docs/design.md, "State"). Beside the text there may be attachments: images and
// PDFs, always in blobs.
import { type TypeOf, either, integer, list, oneOf, shape, text } from './codec.ts';
import { Digest } from './ids.ts';
import { isPlainObject } from './json.ts';
import {
  ATTACHMENTS_MAX,
  ATTACHMENT_BYTES_MAX,
  ATTACHMENT_NAME_CHARS_MAX,
  BLOB_BYTES_MAX,
  EXCERPT_CHARS,
  INLINE_CHARS_MAX,
} from './limits.ts';

/** Text of at most {@link INLINE_CHARS_MAX} UTF-16 units. */
export const InlineText = shape('InlineText', { text: text('text', { max: INLINE_CHARS_MAX }) });
export type InlineText = TypeOf<typeof InlineText>;

/** UTF-8 text in a blob: its digest, its size in bytes, and its first and last characters for people to read. */
export const BlobText = shape('BlobText', {
  ref: Digest,
  bytes: integer('bytes', 0, BLOB_BYTES_MAX),
  head: text('head', { max: EXCERPT_CHARS }),
  tail: text('tail', { max: EXCERPT_CHARS }),
});
export type BlobText = TypeOf<typeof BlobText>;

export const Content = either('Content', InlineText, BlobText, (value) =>
  isPlainObject(value) && typeof value['text'] === 'string' && value['text'].length > INLINE_CHARS_MAX
    ? `has a text of ${value['text'].length} characters, and at most ${INLINE_CHARS_MAX} may be inline; put longer text into a blob`
    : null,
);
export type Content = TypeOf<typeof Content>;

/** True when the value holds the text; false when it names a blob. */
export const isInline = (content: Content): content is InlineText => 'text' in content;

/** The types of attachments. The engine's edge compares each with the first bytes of the blob. */
export const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** An image or a PDF that goes to the model with a message or a result: the digest of its blob, size, type and name. */
export const Attachment = shape(
  'Attachment',
  { ref: Digest, bytes: integer('bytes', 0, ATTACHMENT_BYTES_MAX), media_type: oneOf('media_type', MEDIA_TYPES) },
  { name: text('name', { min: 1, max: ATTACHMENT_NAME_CHARS_MAX }) },
);
export type Attachment = TypeOf<typeof Attachment>;

/** The attachments of one message or result, in order; absent when there are none. */
export const Attachments = list(Attachment, ATTACHMENTS_MAX, 1);
export type Attachments = TypeOf<typeof Attachments>;

/** The type that the first bytes of a file say it has, by its format's signature; null when it is none of these types. */
export function sniffMediaType(head: Uint8Array): MediaType | null {
  const signature = SIGNATURES.find(({ begins }) =>
    begins.every(({ at, bytes }) => bytes.every((byte, index) => head[at + index] === byte)),
  );
  return signature?.type ?? null;
}

interface Signature {
  readonly type: MediaType;
  readonly begins: readonly { readonly at: number; readonly bytes: readonly number[] }[];
}

const ascii = (word: string): readonly number[] => Array.from(word, (letter) => letter.charCodeAt(0));
const found = (at: number, ...bytes: readonly number[]) => ({ at, bytes });

// PNG (W3C PNG, sections 5.2 and 11.2.1): the signature, then the chunk IHDR of 13 bytes. JPEG (ISO 10918-1, annex B):
// the marker SOI, then another marker. WebP (RFC 9649, section 2.4). PDF (ISO 32000-1, section 7.5.2).
const SIGNATURES: readonly Signature[] = [
  { type: 'image/png', begins: [found(0, 0x89, ...ascii('PNG\r\n\x1a\n'), 0, 0, 0, 13, ...ascii('IHDR'))] },
  { type: 'image/jpeg', begins: [found(0, 0xff, 0xd8, 0xff)] },
  { type: 'image/gif', begins: [found(0, ...ascii('GIF87a'))] },
  { type: 'image/gif', begins: [found(0, ...ascii('GIF89a'))] },
  { type: 'image/webp', begins: [found(0, ...ascii('RIFF')), found(8, ...ascii('WEBP'))] },
  { type: 'application/pdf', begins: [found(0, ...ascii('%PDF-'))] },
];

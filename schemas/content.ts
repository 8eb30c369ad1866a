// Text that a model reads or wrote: inline when it is small, otherwise a blob named by its digest. State holds
// references to blobs, never their bytes (docs/design.md, "State").
import { type TypeOf, either, integer, shape, text } from './codec.ts';
import { Digest } from './ids.ts';
import { isPlainObject } from './json.ts';
import { BLOB_BYTES_MAX, EXCERPT_CHARS, INLINE_CHARS_MAX } from './limits.ts';

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

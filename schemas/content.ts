// Text that a model reads or wrote: inline while it is small, a blob by content digest when it is not. State holds
// references, never payloads (DESIGN section 5).
import { type TypeOf, either, integer, shape, text } from './codec.ts';
import { Digest } from './ids.ts';
import { BLOB_BYTES_MAX, EXCERPT_CHARS, INLINE_CHARS_MAX } from './limits.ts';

/** Text of at most {@link INLINE_CHARS_MAX} UTF-16 units. */
export const InlineText = shape('InlineText', { text: text('text', { max: INLINE_CHARS_MAX }) });
export type InlineText = TypeOf<typeof InlineText>;

/** UTF-8 text kept as a blob: its digest, its size in bytes, and its first and last characters for people. */
export const BlobText = shape('BlobText', {
  ref: Digest,
  bytes: integer('bytes', 0, BLOB_BYTES_MAX),
  head: text('head', { max: EXCERPT_CHARS }),
  tail: text('tail', { max: EXCERPT_CHARS }),
});
export type BlobText = TypeOf<typeof BlobText>;

export const Content = either('Content', InlineText, BlobText);
export type Content = TypeOf<typeof Content>;

/** True when the content is in the value itself. */
export const isInline = (content: Content): content is InlineText => 'text' in content;

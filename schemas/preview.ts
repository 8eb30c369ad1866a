// What a call would do, as the bridge that would run it found: a diff for people, and the files it is about, each with the
// digest of its content. It is recorded while the call waits for a person, whose answer may name it by its digest.
import { digestJson } from './canonical.ts';
import { type TypeOf, either, integer, list, nullable, shape, text } from './codec.ts';
import { InlineText } from './content.ts';
import { Digest } from './ids.ts';
import {
  EXCERPT_CHARS,
  MESSAGE_CHARS_MAX,
  PATH_CHARS_MAX,
  PREVIEW_DIFF_BYTES_MAX,
  PREVIEW_FILES_MAX,
} from './limits.ts';

/** A file that the call would write or remove. */
export const PreviewedFile = shape('PreviewedFile', {
  /** Relative to the workspace, without `.` and `..`. */
  path: text('path', { min: 1, max: PATH_CHARS_MAX }),
  /** The digest of its content when the preview was made; null when there was no file. */
  before: nullable(Digest),
});
export type PreviewedFile = TypeOf<typeof PreviewedFile>;

export const PreviewedFiles = list(PreviewedFile, PREVIEW_FILES_MAX);
export type PreviewedFiles = TypeOf<typeof PreviewedFiles>;

/** As `BlobText`, of bounded size. */
const DiffBlob = shape('DiffBlob', {
  ref: Digest,
  bytes: integer('bytes', 0, PREVIEW_DIFF_BYTES_MAX),
  head: text('head', { max: EXCERPT_CHARS }),
  tail: text('tail', { max: EXCERPT_CHARS }),
});
const Diff = either('Diff', InlineText, DiffBlob);

/**
 * `diff`: lines for people, cut at a bound; each begins with its mark (`src/shown/diff-lines.ts`). `files`: every file that
 * the call would change, never cut.
 */
export const CallPreview = shape('CallPreview', { diff: Diff, files: PreviewedFiles });
export type CallPreview = TypeOf<typeof CallPreview>;

/** Why there is no preview: a stable code, and a sentence for people. */
export const NoPreview = shape('NoPreview', {
  code: text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ }),
  message: text('message', { max: MESSAGE_CHARS_MAX }),
});
export type NoPreview = TypeOf<typeof NoPreview>;

/** A preview as state keeps it: with the digest by which an answer names it. */
export const RecordedPreview = shape('RecordedPreview', {
  diff: Diff,
  digest: Digest,
  files: PreviewedFiles,
});
export type RecordedPreview = TypeOf<typeof RecordedPreview>;

/** The digest by which an answer names a preview. */
export const previewDigest = ({ diff, files }: CallPreview): Digest => digestJson({ diff, files });

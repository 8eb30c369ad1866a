// What an executor reports of a call that it was asked to look at and not to run. It is decoded, as the report of a call is.
import { type TypeOf, either, shape, text } from '../../schemas/codec.ts';
import { PREVIEW_CHARS_MAX } from '../../schemas/limits.ts';
import { NoPreview, PreviewedFiles } from '../../schemas/consent.ts';

/** `diff`: lines as `src/shown/diff-lines.ts` writes them. `files`: every file that the call would change. */
const Previewed = shape('Previewed', { diff: text('diff', { max: PREVIEW_CHARS_MAX }), files: PreviewedFiles });

export const PreviewReport = either('PreviewReport', Previewed, NoPreview);
export type PreviewReport = TypeOf<typeof PreviewReport>;

// What an executor says came of a call. Executors are not trusted to keep to it: everything they return is decoded.
import { type TypeOf, flag, integer, jsonObject, shape, text } from '../../schemas/codec.ts';
import { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { HostSessionFacts } from '../../schemas/tool-set.ts';
import { FileChanges } from '../../schemas/undo.ts';

export const CallReport = shape(
  'CallReport',
  {
    success: flag,
    /** What the model reads: the output, or what went wrong and what to do about it. */
    text: text('text', { max: BLOB_BYTES_MAX }),
  },
  {
    /** Why it failed: a stable word. */
    code: text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ }),
    data: jsonObject,
    /** The result ends the run, or explicitly does not (Steerable, "Completion"). */
    terminal: flag,
    needsFollowup: flag,
    /** It failed for a reason that may pass: a repeatable call is tried again as the run's retry policy says. */
    retryable: flag,
    nextAction: text('nextAction', { max: 4_096 }),
    /** The whole output, when `text` is only a part of it and the executor has kept it as a blob. */
    whole: shape('WholeOutput', { ref: Digest, bytes: integer('bytes', 0, BLOB_BYTES_MAX) }),
    host_session: HostSessionFacts,
    /** The files it changed; what stood there before is kept as blobs already. */
    changes: FileChanges,
  },
);
export type CallReport = TypeOf<typeof CallReport>;

/** A failure in the form in which the model reads all of them. */
export const failedReport = (code: string, message: string): CallReport => ({
  success: false,
  code,
  text: `error: ${code}: ${message}`,
});

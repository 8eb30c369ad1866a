// What an executor reports of a call. Executors are not trusted to follow the type: everything they return is decoded.
import { type TypeOf, flag, integer, jsonObject, shape, text } from '../../schemas/codec.ts';
import { Attachments } from '../../schemas/content.ts';
import { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { HostSessionFacts } from '../../schemas/tool-set.ts';
import { FileChanges, WorkspaceName } from '../../schemas/undo.ts';

export const CallReport = shape(
  'CallReport',
  {
    success: flag,
    /** The text the model reads: the output, or what went wrong and what to do next. */
    text: text('text', { max: BLOB_BYTES_MAX }),
  },
  {
    /** Why it failed: a stable identifier. */
    code: text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ }),
    data: jsonObject,
    /** The result ends the run (Steerable Tools Spec, "Completion semantics"). */
    terminal: flag,
    /** A failure is returned to the model instead of ending the run (same section). */
    needsFollowup: flag,
    /** The failure is transient: a repeatable call is tried again as the run's retry policy says. */
    retryable: flag,
    /** What people are shown of the call; the model does not read it (same document, "ToolResult"). */
    message: text('message', { max: 65_536 }),
    /** A hint about the next step, for a program that drives the model (same section). */
    nextAction: text('nextAction', { max: 4_096 }),
    /** The whole output, when `text` is only part of it and the executor has stored it as a blob. */
    whole: shape('WholeOutput', { ref: Digest, bytes: integer('bytes', 0, BLOB_BYTES_MAX) }),
    /** Images and PDFs that the model gets with the text; their bytes are already stored as blobs. */
    attachments: Attachments,
    host_session: HostSessionFacts,
    /** The files it changed; their former content is already stored as blobs. */
    changes: FileChanges,
    /** Names the workspace of `changes`. */
    workspace: WorkspaceName,
  },
);
export type CallReport = TypeOf<typeof CallReport>;

/** A failure; the model reads all failures in this form. */
export const failedReport = (code: string, message: string): CallReport => ({
  success: false,
  code,
  text: `error: ${code}: ${message}`,
});

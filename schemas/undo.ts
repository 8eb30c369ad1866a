// The files a call changed, as its settlement records them, and an undo that is owed.
import { type TypeOf, either, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { BatchId, CallId, Digest, Position } from './ids.ts';
import { BLOB_BYTES_MAX, CHANGES_PER_CALL_MAX, PATH_CHARS_MAX, PATH_DEPTH_MAX } from './limits.ts';

/**
 * The name of the place where the files of a call are. Its bridge chooses it: the same for the same files, another one for
 * any others, also on another machine. It is compared and never interpreted.
 */
export const WorkspaceName = text('workspace', { min: 1, max: 128, pattern: /^[\x21-\x7e]+$/ });
export type WorkspaceName = TypeOf<typeof WorkspaceName>;

/** Bytes kept as a blob. */
export const KeptBytes = shape('KeptBytes', { ref: Digest, bytes: integer('bytes', 0, BLOB_BYTES_MAX) });
export type KeptBytes = TypeOf<typeof KeptBytes>;

/** Why the bytes of a file were not kept before it was changed. Such a change cannot be undone. */
export const Withheld = shape('Withheld', {
  withheld: oneOf('withheld', ['too_large', 'secret', 'unreadable', 'not_kept']),
});
export type Withheld = TypeOf<typeof Withheld>;

/** One file that a call changed. */
export const FileChange = shape(
  'FileChange',
  {
    /** Relative to the workspace, without `.` and `..`. */
    path: text('path', { min: 1, max: PATH_CHARS_MAX }),
    /** The content before; null when there was no file. */
    before: nullable(either('Preimage', KeptBytes, Withheld)),
    /** The digest of the content after the call; null when the call removed the file. */
    after_digest: nullable(Digest),
  },
  {
    /** The permission bits of the file before the call. */
    mode: integer('mode', 0, 0o777),
    /** How many folders above the file the call created for it. */
    parents_made: integer('parents_made', 1, PATH_DEPTH_MAX),
  },
);
export type FileChange = TypeOf<typeof FileChange>;

export const FileChanges = list(FileChange, CHANGES_PER_CALL_MAX, 1);

/** An undo that was requested and has no answer yet. */
export const PendingUndo = shape(
  'PendingUndo',
  {
    /** The position of its `UndoRequested`; unique in the session. */
    position: Position,
    batch_id: BatchId,
    call_id: CallId,
    changes: FileChanges,
  },
  {
    /** Where the files are; absent when the bridge of the call named no workspace. */
    workspace: WorkspaceName,
  },
);
export type PendingUndo = TypeOf<typeof PendingUndo>;

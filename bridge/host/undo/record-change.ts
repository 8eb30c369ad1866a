// What a file tool says about each file it changed, taken down before it does: what stood there, and what to put back.
// Nothing here may fail the call: bytes that cannot be kept are said to be withheld, and such a call cannot be undone.
import { Buffer } from 'node:buffer';
import {
  CHANGES_CHARS_MAX,
  CHANGES_PER_CALL_MAX,
  PREIMAGES_BYTES_MAX,
  PREIMAGE_BYTES_MAX,
} from '../../../schemas/limits.ts';
import { type Digest, brand } from '../../../schemas/ids.ts';
import type { Withheld } from '../../../schemas/undo.ts';
import type { ChangedFile } from '../outcome.ts';
import { digestOf } from '../patch/commit-manifest.ts';
import type { Redactor } from '../redact.ts';
import { lookUp } from '../workspace/directory.ts';
import type { WorkspacePath } from '../workspace/path-name.ts';
import { type Workspace, readWhole, withParent } from '../workspace/workspace.ts';

/** What stands under a path now. */
export interface Preimage {
  readonly bytes: Buffer | Withheld | null;
  readonly mode: number | null;
}

/** `known`: the file's bytes, when the tool has read them already. */
export function preimageOf(workspace: Workspace, path: WorkspacePath, known?: Buffer): Preimage {
  try {
    const stats = withParent(workspace, path, lookUp);
    if (stats === null) return { bytes: null, mode: null };
    const mode = stats.mode & 0o777;
    if (stats.size > PREIMAGE_BYTES_MAX) return { bytes: { withheld: 'too_large' }, mode };
    return { bytes: known ?? readWhole(workspace, path).bytes, mode };
  } catch {
    return { bytes: { withheld: 'unreadable' }, mode: null };
  }
}

export function changedFile(
  path: WorkspacePath,
  { bytes, mode }: Preimage,
  after: Uint8Array | null,
  parentsMade: number,
): ChangedFile {
  return {
    path: path.names.join('/'),
    before: bytes,
    after_digest: after === null ? null : contentDigest(after),
    ...(mode === null ? {} : { mode }),
    ...(parentsMade === 0 ? {} : { parents_made: parentsMade }),
  };
}

export const contentDigest = (bytes: Uint8Array): Digest => brand(`sha256:${digestOf(bytes)}`);

/**
 * The changes as they may leave the host: bytes with a secret in them, and bytes beyond what is kept for one call, are
 * withheld. None at all when there are too many to record, or when a path holds a secret.
 */
export function fitChanges(changes: readonly ChangedFile[], redactor: Redactor): readonly ChangedFile[] {
  const chars = changes.reduce((sum, { path }) => sum + JSON.stringify(path).length, 0);
  if (changes.length > CHANGES_PER_CALL_MAX || chars > CHANGES_CHARS_MAX) return [];
  if (changes.some(({ path }) => redactor.text(path) !== path)) return [];
  let kept = 0;
  return changes.map((change) => {
    const { before } = change;
    if (!Buffer.isBuffer(before)) return change;
    if (!redactor.window(before, 0, before.length).equals(before)) return { ...change, before: { withheld: 'secret' } };
    kept += before.length;
    return kept <= PREIMAGES_BYTES_MAX ? change : { ...change, before: { withheld: 'too_large' } };
  });
}

// Records what a file tool changes, so that the call can be undone. The bytes of each file are read before the tool writes.
// Nothing here may fail the call: bytes that cannot be kept are marked as withheld, and the call cannot be undone.
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
import { digestOf } from '../patch/patch-manifest.ts';
import type { Redactor } from '../../secrets/redactor.ts';
import { lookUp } from '../workspace/directory.ts';
import type { WorkspacePath } from '../workspace/path-name.ts';
import { type Workspace, readWhole, withParent } from '../workspace/workspace.ts';

/** The file at a path before the change; `bytes` is null when there is no file. */
export interface Preimage {
  readonly bytes: Buffer | Withheld | null;
  readonly mode: number | null;
}

/** The bytes; null when there is no file, and when they were not kept. */
export const bytesOf = ({ bytes }: Preimage): Buffer | null => (Buffer.isBuffer(bytes) ? bytes : null);

/** `known`: the file's bytes, when the tool has already read them. */
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
 * The changes that may leave the host. Bytes that contain a secret, and bytes above the bound for one call, are withheld.
 * Empty when there are too many changes to record, or when a path contains a secret.
 */
export function fitChanges(changes: readonly ChangedFile[], redactor: Redactor): readonly ChangedFile[] {
  const chars = changes.reduce((sum, { path }) => sum + JSON.stringify(path).length, 0);
  if (changes.length > CHANGES_PER_CALL_MAX || chars > CHANGES_CHARS_MAX) return [];
  if (changes.some(({ path }) => redactor.text(path) !== path)) return [];
  let kept = 0;
  return changes.map((change) => {
    const { before } = change;
    if (!Buffer.isBuffer(before)) return change;
    if (redactor.has(before)) return { ...change, before: { withheld: 'secret' } };
    kept += before.length;
    return kept <= PREIMAGES_BYTES_MAX ? change : { ...change, before: { withheld: 'too_large' } };
  });
}

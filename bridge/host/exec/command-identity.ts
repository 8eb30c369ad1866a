// The user that a command runs as. Never root: a sandbox that root starts does not confine, because the kernel's own
// files (/proc, /sys) stay writable in it.
import type { Owner } from '../workspace/workspace.ts';

/** The uid of the user `nobody`, used when the options give none and the workspace belongs to root. */
const NOBODY = 65_534;

/** Null when the host is not root: commands then run as the host's own user. */
export function commandIdentity(workspaceOwner: Owner, sandboxUid: number | undefined): Owner | null {
  if (sandboxUid === 0)
    throw new Error('sandboxUid must not be 0: commands never run as root; give an unprivileged uid');
  if (process.getuid?.() !== 0) return null;
  if (sandboxUid !== undefined) return { uid: sandboxUid, gid: sandboxUid };
  if (workspaceOwner.uid !== 0) return { uid: workspaceOwner.uid, gid: workspaceOwner.gid || workspaceOwner.uid };
  return { uid: NOBODY, gid: NOBODY };
}

export const describeUid = (identity: Owner | null): string =>
  `uid ${identity?.uid ?? process.getuid?.() ?? 'unknown'}`;

// As whom a command runs. Never as root: a sandbox started by root is no boundary, because the kernel's own files
// stay writable in it.
import type { Owner } from '../workspace/workspace.ts';

/** The user nobody, when neither the options nor the workspace name one. */
const NOBODY = 65_534;

/** Null when commands run as the host's own user, which then is not root. */
export function commandIdentity(workspaceOwner: Owner, sandboxUid: number | undefined): Owner | null {
  if (sandboxUid === 0) throw new Error('sandboxUid must not be 0: commands never run as root');
  if (process.getuid?.() !== 0) return null;
  if (sandboxUid !== undefined) return { uid: sandboxUid, gid: sandboxUid };
  if (workspaceOwner.uid !== 0) return { uid: workspaceOwner.uid, gid: workspaceOwner.gid || workspaceOwner.uid };
  return { uid: NOBODY, gid: NOBODY };
}

export const describeUid = (identity: Owner | null): string =>
  `uid ${identity?.uid ?? process.getuid?.() ?? 'unknown'}`;

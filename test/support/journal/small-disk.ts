import { execFileSync } from 'node:child_process';
import { temporaryDirectory } from './temporary-directory.ts';

/** Mounts a small file system in memory; returns the reason when that is not possible. */
export async function mountSmallDisk(
  size: string,
): Promise<{ readonly directory: string; readonly unmount: () => Promise<void> } | { readonly reason: string }> {
  if (process.getuid?.() !== 0) return { reason: 'only root may mount a small disk' };
  const { directory, remove } = await temporaryDirectory();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory], { stdio: 'pipe' });
  } catch (error) {
    await remove();
    return { reason: `no small disk could be mounted: ${error instanceof Error ? error.message : ''}` };
  }
  return {
    directory,
    unmount: async () => {
      execFileSync('umount', [directory]);
      await remove();
    },
  };
}

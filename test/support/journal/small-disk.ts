import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Fills a disk to the last block. */
export async function fillDisk(directory: string): Promise<void> {
  for (let size = 1_048_576; size >= 512; size /= 2) {
    for (let n = 0; ; n += 1) {
      const written = await writeFile(join(directory, `fill-${size}-${n}`), randomBytes(size)).then(
        () => true,
        () => false,
      );
      if (!written) break;
    }
  }
}

/** Removes what {@link fillDisk} wrote. */
export async function freeDisk(directory: string): Promise<void> {
  for (const name of await readdir(directory)) if (name.startsWith('fill-')) await rm(join(directory, name));
}

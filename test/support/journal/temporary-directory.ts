// Temporary directories for tests. They are in memory where the system offers that: the tests make thousands of small
// journals, and on a disk every commit waits for an fsync (a test file takes four times as long). No test depends on
// the disk itself: damage is made by hand, and a killed process leaves its writes in the page cache on either.
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 1_024 * 1_048_576;

/** Runs `work` in a new directory and removes the directory afterwards. */
export async function inTemporaryDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const { directory, remove } = await temporaryDirectory();
  try {
    return await work(directory);
  } finally {
    await remove();
  }
}

export async function temporaryDirectory(): Promise<{
  readonly directory: string;
  readonly remove: () => Promise<void>;
}> {
  const directory = await mkdtemp(join(await parentDirectory(), 'refold-journal-'));
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** `TMPDIR` when it is set; otherwise memory, when enough of it is free; otherwise the system's directory. */
async function parentDirectory(): Promise<string> {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  const free = await statfs(MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free >= MEMORY_BYTES_MIN ? MEMORY : tmpdir();
}

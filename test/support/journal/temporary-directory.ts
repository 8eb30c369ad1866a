import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs `work` in a directory of its own, which is gone afterwards. */
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
  const directory = await mkdtemp(join(tmpdir(), 'refold-journal-'));
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

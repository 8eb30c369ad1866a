// Directories that survive a power cut: a new entry is on disk only once the directory that holds it is synced.
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const PRIVATE_MODE = 0o700;

/** Makes a directory and those above it that are missing, with mode 0700, and syncs what holds them. */
export async function makeDirectory(path: string): Promise<void> {
  const last = resolve(path);
  const first = await mkdir(last, { recursive: true, mode: PRIVATE_MODE });
  if (first === undefined) return;
  for (let made = last; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

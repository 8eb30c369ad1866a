// What a backup of an engine consists of, while the engine goes on. The entries, sealed pages among them, are those of one
// moment. Blobs are listed after it, and a blob is put before the event that names it, so every blob that an entry refers to
// is among them.
import { Buffer } from 'node:buffer';
import type { Digest } from '../../schemas/ids.ts';
import { BACKUP_ENTRIES } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import type { BackupPart } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import type { Journal } from '../journal/journal.ts';
import { rejectionOf } from '../journal/refusal.ts';

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** `blobs`: those that are no entries of the journal. */
export async function* backupParts(journal: Journal, blobs: Blobs, closed: AbortSignal): AsyncGenerator<BackupPart> {
  const stored = journal.entries();
  if (stored === null) {
    throw new FollowRefused(reject('not_found', '', 'this engine keeps its sessions in memory; export them instead'));
  }
  const counts = { entries: 0, blobs: 0 };
  const checkOpen = (): void => {
    if (closed.aborted) throw new FollowRefused(reject('closing', '', 'the engine is closing; back up again later'));
  };
  for await (const page of refusing(stored)) {
    checkOpen();
    counts.entries += page.length;
    yield { entries: page.map(({ key, value }) => ({ key: base64(key), value: base64(value) })) };
  }
  let refs: Digest[] = [];
  for await (const ref of blobs.list()) {
    checkOpen();
    refs.push(ref);
    counts.blobs += 1;
    if (refs.length < BACKUP_ENTRIES) continue;
    yield { blobs: refs };
    refs = [];
  }
  yield { blobs: refs };
  yield { end: counts };
}

/** The same pages; what the journal refuses meanwhile ends the backup. */
async function* refusing<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* pages;
  } catch (error) {
    throw new FollowRefused(rejectionOf(error));
  }
}

// Finds the blobs that nothing refers to, and deletes them when told to. What is kept is decided generously: a blob whose
// digest is written anywhere in a stream, in a snapshot or in a sealed page stays, and so does one that was put lately.
import { isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { decode } from '../../schemas/codec.ts';
import { type Digest, type Position, type SessionId, brand } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, GC_GRACE_MS, READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type SessionState, TranscriptPage } from '../../schemas/state.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Journal } from '../journal/journal.ts';
import { loadSession } from './load-session.ts';

export interface CollectOptions {
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** Now, in milliseconds since 1970. */
  readonly nowMs: number;
  /** How long a blob is safe after it was last put; GC_GRACE_MS by default. */
  readonly graceMs?: number;
  /** Whether to delete what is found. */
  readonly remove: boolean;
}

export interface Collection {
  /** Blobs that something refers to. */
  readonly referenced: number;
  /** Blobs that nothing refers to and that were put too lately to be judged. */
  readonly young: number;
  /** Blobs that nothing refers to, in order: deleted if that was asked for. */
  readonly unreferenced: readonly Digest[];
}

/**
 * For stores that no engine works on meanwhile. Collects nothing at all when a stream does not verify or a sealed page
 * cannot be read (`damaged`): what they refer to is not known then.
 */
export const collectBlobs =
  ({ journal, blobs, nowMs, graceMs = GC_GRACE_MS, remove }: CollectOptions): TaskEither<Rejection, Collection> =>
  async () => {
    const candidates = new Set<Digest>();
    for await (const ref of blobs.list()) candidates.add(ref);
    const all = candidates.size;
    const sessions = await journal.sessions()();
    if (isLeft(sessions)) return sessions;
    for (const { session_id } of sessions.right) {
      const failed = await keepReferenced({ journal, blobs }, session_id, candidates);
      if (failed !== null) return left(failed);
    }
    const unreferenced: Digest[] = [];
    for (const ref of candidates) {
      const putAt = await blobs.lastPut(ref)();
      if (isLeft(putAt)) return putAt;
      if (nowMs - putAt.right >= graceMs) unreferenced.push(ref);
    }
    for (const ref of remove ? unreferenced : []) {
      const deleted = await blobs.delete(ref)();
      if (isLeft(deleted)) return deleted;
    }
    return right({ referenced: all - candidates.size, young: candidates.size - unreferenced.length, unreferenced });
  };

interface Stores {
  readonly journal: Journal;
  readonly blobs: Blobs;
}

/** Takes away from `candidates` what a session refers to; the rejection when that cannot be told. */
async function keepReferenced(
  { journal, blobs }: Stores,
  id: SessionId,
  candidates: Set<Digest>,
): Promise<Rejection | null> {
  const loaded = await loadSession(journal, id);
  if (isLeft(loaded)) return loaded.left;
  const { state } = loaded.right;
  for (let from = 0; from < state.version; from += READ_PAGE_RECORDS) {
    const page = await journal.read(id, from as Position, READ_PAGE_RECORDS)();
    if (isLeft(page)) return page.left;
    for (const { event } of page.right) keepNamed(event, candidates);
  }
  const versions = await journal.snapshots.versions(id)();
  for (const version of isLeft(versions) ? NO_VERSIONS : versions.right) {
    const snapshot = await journal.snapshots.get(id, version)();
    if (!isLeft(snapshot) && snapshot.right !== null) keepNamed(snapshot.right.state, candidates);
  }
  return await keepPages(blobs, state, candidates);
}

const NO_VERSIONS = [] as const;

/** Keeps the sealed pages back to the first one: each names the one before it. */
async function keepPages(blobs: Blobs, state: SessionState, candidates: Set<Digest>): Promise<Rejection | null> {
  for (const ref of state.transcript.sealed) candidates.delete(ref);
  const seen = new Set<Digest>();
  for (let next = state.transcript.sealed.at(-1) ?? null; next !== null && !seen.has(next);) {
    const ref: Digest = next;
    seen.add(ref);
    candidates.delete(ref);
    const bytes = await blobs.get(ref)();
    const text = isLeft(bytes) ? '' : new TextDecoder().decode(bytes.right);
    const parsed = parseJson(text, BLOB_BYTES_MAX);
    const page = isLeft(parsed) ? parsed : decode(TranscriptPage, parsed.right);
    if (isLeft(page)) {
      const why = isLeft(bytes) ? bytes.left.message : page.left.message;
      return reject('damaged', '', `session ${state.session_id}, page ${ref}: ${why}; nothing was collected`);
    }
    keepNamed(text, candidates);
    next = page.right.prev;
  }
  return null;
}

/** Keeps every blob whose digest stands in a text, whatever it means there. */
function keepNamed(text: string, candidates: Set<Digest>): void {
  for (const [name] of text.matchAll(/sha256:[0-9a-f]{64}/g)) candidates.delete(brand<'Digest'>(name));
}

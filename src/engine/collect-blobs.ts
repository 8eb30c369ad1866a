// Finds the blobs that nothing refers to, and deletes them on request. In case of doubt a blob is kept: when its
// digest occurs anywhere in a stream, a snapshot or a sealed page, or when it was put recently. The one exception is the
// response of a model that its event keeps for a number of turns only (kept-responses.ts).
import { type Either, chain, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { decode } from '../../schemas/codec.ts';
import { type Digest, type Position, type SessionId, brand } from '../../schemas/ids.ts';
import { parseJson } from '../../schemas/json.ts';
import { BLOB_BYTES_MAX, GC_GRACE_MS, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { versionAfter } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { isIncomplete } from '../../schemas/session-head.ts';
import { type SessionState, TranscriptPage } from '../../schemas/state.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { sessionPages } from '../client/all-sessions.ts';
import type { Journal } from '../journal/journal.ts';
import { pause } from '../turns.ts';
import { PAGE_PUT_MS, blobsWithPages } from './blobs-with-pages.ts';
import { newKeptResponses } from './kept-responses.ts';
import { loadSession } from './sessions/load-session.ts';

export interface CollectOptions {
  /** Says which blobs are needed. */
  readonly journal: Journal;
  /** Where the blobs are looked for. */
  readonly blobs: Blobs;
  /** Now, in milliseconds since 1970. */
  readonly nowMs: number;
  /** How long a blob is kept after it was last put; GC_GRACE_MS by default. */
  readonly graceMs?: number;
  /** Whether to delete the blobs that are found. */
  readonly remove: boolean;
}

export interface Collection {
  /** Blobs that something refers to. */
  readonly referenced: number;
  /** Blobs that nothing refers to, but that were put too recently to be deleted. */
  readonly young: number;
  /** Blobs that nothing refers to, in order of digest; deleted when `remove` is set. */
  readonly unreferenced: readonly Digest[];
}

type Answer<T> = Promise<Either<Rejection, T>>;

/**
 * For stores that no engine uses at the same time. Collects nothing when a stream does not verify or a sealed page cannot
 * be read (`damaged`): then it is unknown which blobs they refer to.
 */
export const collectBlobs =
  (options: CollectOptions): TE.TaskEither<Rejection, Collection> =>
  async () => {
    const { journal, remove } = options;
    const blobs = blobsWithPages(options.blobs, journal);
    const candidates = new Set<Digest>();
    for await (const ref of blobs.list()) candidates.add(ref);
    const all = candidates.size;
    return await pipe(
      () => keepAll({ journal, blobs }, candidates),
      TE.chain(() => () => findOld({ ...options, blobs }, candidates)),
      TE.chain((old) => () => (remove ? deleteAll(options, old) : Promise.resolve(right(old)))),
      TE.map((unreferenced) => ({
        referenced: all - candidates.size,
        young: candidates.size - unreferenced.length,
        unreferenced: unreferenced.map(({ ref }) => ref),
      })),
    )();
  };

interface OldBlob {
  readonly ref: Digest;
  readonly lastPutMs: number;
}

/** The blobs that were last put before the grace period. */
async function findOld(
  { blobs, nowMs, graceMs = GC_GRACE_MS }: CollectOptions,
  refs: ReadonlySet<Digest>,
): Answer<readonly OldBlob[]> {
  const old: OldBlob[] = [];
  for (const ref of refs) {
    const putAt = await blobs.lastPut(ref)();
    if (isLeft(putAt)) return putAt;
    if (nowMs - putAt.right >= graceMs) old.push({ ref, lastPutMs: putAt.right });
  }
  return right(old);
}

/** Deletes those that were not put again meanwhile, and returns them. Pages of the journal go together: it is compacted once. */
async function deleteAll({ journal, blobs }: Stores, old: readonly OldBlob[]): Answer<readonly OldBlob[]> {
  const gone: OldBlob[] = [];
  for (const one of old) {
    const deleted = await blobs.delete(one.ref, { lastPutBeforeMs: one.lastPutMs + 1 })();
    const isAbsent = isLeft(deleted) && deleted.left.code === 'unknown_blob';
    if (isLeft(deleted) && !isAbsent) return deleted;
    // A page that is no blob is absent there: nothing puts it again without the append that refers to it.
    if (!isAbsent || one.lastPutMs === PAGE_PUT_MS) gone.push(one);
  }
  const deleted = await journal.deletePages(gone.map(({ ref }) => ref))();
  return isLeft(deleted) ? deleted : right(gone);
}

interface Stores {
  readonly journal: Journal;
  readonly blobs: Blobs;
}

/** Removes from `candidates` what any session refers to. */
async function keepAll(stores: Stores, candidates: Set<Digest>): Answer<void> {
  for await (const page of sessionPages((request) => stores.journal.sessions(request))) {
    if (isLeft(page)) return page;
    for (const head of page.right) {
      // What a copy that was cut off names is kept as well; its pages are put again when its import goes on.
      const kept = isIncomplete(head)
        ? await keepInEvents(stores.journal, head, candidates)()
        : await keepReferenced(stores, head.session_id, candidates);
      if (isLeft(kept)) return kept;
    }
  }
  return right(undefined);
}

/** Removes from `candidates` what a session refers to; the rejection when that is unknown. */
const keepReferenced = ({ journal, blobs }: Stores, id: SessionId, candidates: Set<Digest>): Answer<void> =>
  pipe(
    () => loadSession(journal, pause, id),
    TE.chainFirst(({ state }) => keepInEvents(journal, state, candidates)),
    TE.chain(({ state }) => async () => {
      await keepInSnapshots(journal, id, candidates);
      const fault = await keepPages(blobs, state, candidates);
      return fault === null ? right(undefined) : left(fault);
    }),
  )();

const keepInEvents =
  (
    journal: Journal,
    { session_id, version }: Pick<SessionState, 'session_id' | 'version'>,
    candidates: Set<Digest>,
  ): TE.TaskEither<Rejection, void> =>
  async () => {
    const responses = newKeptResponses();
    for (let from = 0; from < version;) {
      const page = await journal.read(session_id, from as Position, READ_PAGE_EVENTS)();
      if (isLeft(page)) return page;
      for (const commit of page.right) {
        for (const { text } of commit.events) keepNamed(responses.textWithout(text), candidates);
        from = versionAfter(commit);
      }
    }
    for (const ref of responses.kept()) candidates.delete(ref);
    return right(undefined);
  };

async function keepInSnapshots(journal: Journal, id: SessionId, candidates: Set<Digest>): Promise<void> {
  const versions = await journal.snapshots.versions(id)();
  for (const version of isLeft(versions) ? NO_VERSIONS : versions.right) {
    const snapshot = await journal.snapshots.get(id, version)();
    if (!isLeft(snapshot) && snapshot.right !== null) keepNamed(snapshot.right.state, candidates);
  }
}

const NO_VERSIONS = [] as const;

/** Keeps all sealed pages, also those that a summary stands for, from the last to the first: each names the one before it. */
async function keepPages(blobs: Blobs, state: SessionState, candidates: Set<Digest>): Promise<Rejection | null> {
  for (const ref of state.transcript.sealed) candidates.delete(ref);
  const seen = new Set<Digest>();
  const { sealed, summary } = state.transcript;
  for (let next = sealed.at(-1) ?? summary?.through ?? null; next !== null && !seen.has(next);) {
    const ref: Digest = next;
    seen.add(ref);
    candidates.delete(ref);
    const bytes = await blobs.get(ref)();
    const text = isLeft(bytes) ? '' : new TextDecoder().decode(bytes.right);
    const page = pipe(
      parseJson(text, BLOB_BYTES_MAX),
      chain((json) => decode(TranscriptPage, json)),
    );
    if (isLeft(page)) {
      const why = isLeft(bytes) ? bytes.left.message : page.left.message;
      return reject('damaged', '', `session ${state.session_id}, page ${ref}: ${why}; nothing was collected`);
    }
    keepNamed(text, candidates);
    next = page.right.prev;
  }
  return null;
}

/** Keeps every blob whose digest occurs anywhere in a text. */
function keepNamed(text: string, candidates: Set<Digest>): void {
  for (const [name] of text.matchAll(/sha256:[0-9a-f]{64}/g)) candidates.delete(brand<'Digest'>(name));
}

// Copies the readable entries of a journal, in key order, into a new store, and notes what was found of each session.
// Copies genesis texts, tool packages, pages, commits and the record of earlier damage; rebuilds the index of event ids from the
// commits. Heads, their indexes and the number of sessions are written later, from what was found.
import type { Buffer } from 'node:buffer';
import { isLeft } from 'fp-ts/lib/Either.js';
import { digestText } from '../../../schemas/canonical.ts';
import { Digest, type SessionId } from '../../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import { isPlainObject, parseJson } from '../../../schemas/json.ts';
import type { BulkWriter } from './bulk-writer.ts';
import { putsOfCommit } from '../commit-puts.ts';
import {
  COMMIT_LETTER,
  DAMAGE_LETTER,
  GENESIS_LETTER,
  HEAD_LETTER,
  META_LETTER,
  PACKAGE_LETTER,
  PAGE_LETTER,
  TOMBSTONE_LETTER,
  digestInKey,
  genesisKey,
  placeOfCommit,
  sessionOfKey,
  sweepKey,
} from '../keys.ts';
import { NOTHING } from '../head-index.ts';
import { checkLayout } from '../layout.ts';
import { refuse } from '../refusal.ts';
import { type Remains, noteEvents, nothingOf } from './session-verdict.ts';
import {
  type StoredHead,
  decodeStoredGenesis,
  decodeHead,
  decodeCommit,
  decodeMeta,
  decodeText,
} from '../stored-values.ts';

export interface Copied {
  readonly sessions: ReadonlyMap<SessionId, Remains>;
  /** The tool packages that were found whole. */
  readonly packages: ReadonlySet<Digest>;
  /** The sessions that were deleted. */
  readonly deleted: ReadonlySet<SessionId>;
  /** How many sessions the journal stated, or null when it did not. */
  readonly sessionCount: number | null;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer | null;
}

export async function copyJournal(entries: AsyncIterable<Entry>, writes: BulkWriter): Promise<Copied> {
  const copy = new Copy(writes);
  for await (const { key, value } of entries) {
    if (value !== null) copy.add(key, value);
    await writes.flushIfFull();
  }
  await writes.flush();
  return copy;
}

class Copy implements Copied {
  readonly sessions = new Map<SessionId, Remains>();
  readonly packages = new Set<Digest>();
  readonly deleted = new Set<SessionId>();
  sessionCount: number | null = null;
  readonly #writes: BulkWriter;

  /** By the first letter of a key. All other entries are derived from these. */
  readonly #tables: Readonly<Record<string, (key: Buffer, value: Buffer) => void>> = {
    [DAMAGE_LETTER]: (key, value) => this.#writes.add({ key, value }),
    [GENESIS_LETTER]: (key, value) => this.#addGenesis(key, value),
    [META_LETTER]: (_, value) => this.#noteMeta(value),
    [PACKAGE_LETTER]: (key, value) => this.#addPackage(digestInKey(key), value, key),
    [PAGE_LETTER]: (key, value) => this.#addPage(key, value),
    [COMMIT_LETTER]: (key, value) => this.#addCommit(key, value),
    [HEAD_LETTER]: (key, value) => this.#noteHead(key, decodeHead(value)),
    [TOMBSTONE_LETTER]: (key, value) => this.#addTombstone(key, value),
  };

  constructor(writes: BulkWriter) {
    this.#writes = writes;
  }

  add(key: Buffer, value: Buffer): void {
    this.#tables[key.toString('latin1', 0, 1)]?.(key, value);
  }

  #remainsOf(id: SessionId | null): Remains {
    if (id === null) return refuse('damaged', 'a key of the journal does not name a session');
    const remains = this.sessions.get(id) ?? nothingOf();
    this.sessions.set(id, remains);
    return remains;
  }

  #addGenesis(key: Buffer, value: Buffer): void {
    const remains = this.#remainsOf(sessionOfKey(key));
    remains.genesis = true;
    const stored = decodeStoredGenesis(value);
    remains.incomplete = stored?.isComplete === false;
    remains.tool_package = packageNamedIn(stored?.text ?? '');
    this.#writes.add({ key, value });
  }

  // Entries of the session that a sweep has not removed yet were copied before; the next opening sweeps them.
  #addTombstone(key: Buffer, value: Buffer): void {
    const session = sessionOfKey(key);
    if (session === null) return;
    this.deleted.add(session);
    this.#writes.add(
      { key, value },
      { key: genesisKey(session), value: null },
      { key: sweepKey(session), value: NOTHING },
    );
  }

  // A package that does not have its digest is lost, and with it every session that names it.
  #addPackage(digest: Digest | null, value: Buffer, key: Buffer): void {
    const text = decodeText(value);
    if (digest === null || text === null || digestText(text) !== digest) return;
    this.packages.add(digest);
    this.#writes.add({ key, value });
  }

  // A page that does not have its digest is lost. Its sessions are whole: it follows from their events.
  #addPage(key: Buffer, value: Buffer): void {
    if (digestText(value) === digestInKey(key)) this.#writes.add({ key, value });
  }

  #noteHead(key: Buffer, head: StoredHead | null): void {
    this.#remainsOf(sessionOfKey(key)).head = head;
  }

  #noteMeta(value: Buffer): void {
    const meta = decodeMeta(value);
    if (meta !== null) checkLayout(meta.layout);
    this.sessionCount = meta?.sessionCount ?? null;
  }

  // A commit that does not decode is lost: it shows as a gap between positions.
  #addCommit(key: Buffer, value: Buffer): void {
    const place = placeOfCommit(key);
    const commit = place === null ? null : decodeCommit(place.first, value);
    if (place === null || commit === null) return;
    this.#writes.add(...putsOfCommit(place.session, commit));
    noteEvents(this.#remainsOf(place.session), place.first, commit.events.length);
  }
}

/** The digest of the tool package that a genesis text names; null when it names none. */
function packageNamedIn(genesis: string): Digest | null {
  const parsed = parseJson(genesis, BLOB_BYTES_MAX);
  const digest = !isLeft(parsed) && isPlainObject(parsed.right) ? parsed.right['tool_package_digest'] : null;
  return Digest.is(digest) ? digest : null;
}

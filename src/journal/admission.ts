// Decides which writes of a group are admitted, and what they put into the store. Pure: each write is checked, in order of
// arrival, against the stored streams and the earlier writes of the group. There is no other writer, so of two appends at
// the same version exactly one is admitted.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { Digest, EventId, SessionId, Version } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type HeadFacts, type Tombstone, isIncomplete } from '../../schemas/session-head.ts';
import { eventRepeated, sessionDeleted, sessionExists, unknownSession, versionConflict } from './append-rules.ts';
import { META_KEY, genesisKey, headKey, packageKey, sweepKey, tombstoneKey } from './keys.ts';
import { completionOf } from './completion.ts';
import { type Indexed, NOTHING, NOT_INDEXED, indexChanges } from './head-index.ts';
import { type StoredHead, encodeStoredGenesis, encodeHead, encodeMeta, encodeTombstone } from './stored-values.ts';
import type { Change, Put, Removal } from './store.ts';

export interface CreateWrite {
  readonly kind: 'create';
  readonly session: SessionId;
  readonly genesis: string;
  /** `value`: its stored form. */
  readonly tool_package: { readonly digest: Digest; readonly value: Uint8Array };
  readonly head: HeadFacts;
}

export interface AppendWrite {
  readonly kind: 'append';
  readonly session: SessionId;
  readonly expected: Version;
  readonly events: readonly EventId[];
  /** The commits, index entries and pages, in their stored form for a stream at `expected`. */
  readonly puts: readonly Put[];
  readonly head: HeadFacts;
}

/** New facts in a head, without events. */
export interface RestateWrite {
  readonly kind: 'restate';
  readonly session: SessionId;
  readonly expected: Version;
  /** Pages, in their stored form. */
  readonly puts: readonly Put[];
  readonly head: HeadFacts;
}

/** A tombstone in the place of a stream. What the stream leaves behind is removed by the sweeps that follow. */
export interface DeleteWrite {
  readonly kind: 'delete';
  readonly session: SessionId;
  readonly tombstone: Tombstone;
  /** For a damaged session: the entries to remove besides those that its head names. Its head need not be readable. */
  readonly damaged?: readonly Removal[];
}

/** Entries of a deleted session to remove. */
export interface SweepWrite {
  readonly kind: 'sweep';
  readonly session: SessionId;
  readonly removals: readonly Removal[];
}

export type Write = CreateWrite | AppendWrite | RestateWrite | DeleteWrite | SweepWrite;

/** What the next write to a session needs to know of its head. */
export interface KnownHead extends Indexed {
  readonly version: Version;
  readonly card: Pick<HeadFacts['card'], 'status'>;
}

/** The stored head of a session, null when the session does not exist, or the rejection when it cannot be read. */
export type StoredHeadOf = Either<Rejection, KnownHead | null>;

/** What is stored before the group. */
export interface StreamFacts {
  readonly headOf: (session: SessionId) => StoredHeadOf;
  /** Whether the stream of a session contains an event id, before this group. */
  readonly holds: (session: SessionId, event: EventId) => boolean;
  readonly hasPackage: (digest: Digest) => boolean;
  /** The genesis text of a copy that a write of the group completes. */
  readonly genesisOf: (session: SessionId) => Either<Rejection, string>;
  readonly sessionCount: number;
}

export interface Admission {
  /** For each write: the version of its stream after it, or its refusal. */
  readonly answers: readonly Either<Rejection, Version>[];
  readonly changes: readonly Change[];
  /** The heads, after the group, of the sessions that it changed. */
  readonly heads: ReadonlyMap<SessionId, KnownHead>;
  /** The sessions that it deleted, with the version that stands for that: one after their last. */
  readonly deleted: ReadonlyMap<SessionId, Version>;
  readonly sessionCount: number;
}

export function admitWrites(group: readonly Write[], stored: StreamFacts): Admission {
  const changes: Change[] = [];
  const heads = new Map<SessionId, KnownHead>();
  const added = new Map<SessionId, Set<EventId>>();
  const packages = new Set<Digest>();
  const deleted = new Map<SessionId, Version>();
  const created = new Map<SessionId, Either<Rejection, string>>();
  let { sessionCount } = stored;

  const headOf = (session: SessionId): StoredHeadOf => {
    if (deleted.has(session)) return left(sessionDeleted(session));
    const written = heads.get(session);
    return written === undefined ? stored.headOf(session) : right(written);
  };

  function putHead(session: SessionId, before: KnownHead | null, after: StoredHead): Either<Rejection, Version> {
    const { version, owing, wake_at_ms } = after;
    changes.push({ key: headKey(session), value: encodeHead(after) });
    changes.push(...indexChanges(session, before ?? NOT_INDEXED, after));
    heads.set(session, { version, owing, wake_at_ms, card: { status: after.card.status } });
    return right(version);
  }

  function create(write: CreateWrite, before: KnownHead | null): Either<Rejection, Version> {
    const { session, genesis, tool_package: tools, head } = write;
    if (before !== null) return left(sessionExists(session));
    sessionCount += 1;
    changes.push(...creationOf(write, sessionCount, packages.has(tools.digest) || stored.hasPackage(tools.digest)));
    packages.add(tools.digest);
    created.set(session, right(genesis));
    return putHead(session, null, { ...head, version: 0 as Version });
  }

  const restate = (write: RestateWrite, before: KnownHead | null): Either<Rejection, Version> =>
    append({ ...write, kind: 'append', events: [] }, before);

  function append(write: AppendWrite, before: KnownHead | null): Either<Rejection, Version> {
    const { session, expected, events, head } = write;
    const refused = refusalAt(session, expected, before);
    if (refused !== null || before === null) return left(refused ?? unknownSession(session));
    const ids = added.get(session) ?? new Set<EventId>();
    const repeated = events.find((event) => ids.has(event) || stored.holds(session, event));
    if (repeated !== undefined) return left(eventRepeated(session, repeated));
    const genesisOf = (): Either<Rejection, string> => created.get(session) ?? stored.genesisOf(session);
    const completed = completionOf(session, { before, after: head }, genesisOf);
    if (isLeft(completed)) return completed;
    for (const event of events) ids.add(event);
    added.set(session, ids);
    changes.push(...write.puts, ...completed.right);
    return putHead(session, before, { ...head, version: (expected + events.length) as Version });
  }

  function remove({ session, tombstone, damaged }: DeleteWrite, stored: StoredHeadOf): Either<Rejection, Version> {
    const version = tombstone.version ?? (0 as Version);
    const refused = removalRefusal({ session, damaged }, version, stored);
    if (refused !== null) return left(refused);
    sessionCount -= 1;
    const indexed = isLeft(stored) ? NOT_INDEXED : (stored.right ?? NOT_INDEXED);
    changes.push(...deletionOf(tombstone, indexed, sessionCount), ...(damaged ?? []));
    heads.delete(session);
    deleted.set(session, (version + 1) as Version);
    return right(version);
  }

  const answers = group.map((write): Either<Rejection, Version> => {
    if (write.kind === 'sweep') {
      changes.push(...write.removals);
      return right(0 as Version);
    }
    const before = headOf(write.session);
    if (write.kind === 'delete') return remove(write, before);
    if (isLeft(before)) return before;
    if (write.kind === 'create') return create(write, before.right);
    return write.kind === 'append' ? append(write, before.right) : restate(write, before.right);
  });
  return { answers, changes, heads, deleted, sessionCount };
}

/** What makes a session exist, besides its head. */
function creationOf(
  { session, genesis, tool_package: { digest, value }, head }: CreateWrite,
  sessionCount: number,
  hasPackage: boolean,
): readonly Change[] {
  const bytes = encodeStoredGenesis({ text: genesis, isComplete: !isIncomplete(head) });
  return [
    ...(hasPackage ? [] : [{ key: packageKey(digest), value }]),
    { key: genesisKey(session), value: bytes },
    { key: META_KEY, value: encodeMeta(sessionCount) },
  ];
}

/** A tombstone, the mark that the rest must be swept, and the end of what makes the session exist. */
const deletionOf = (tombstone: Tombstone, indexed: Indexed, sessionCount: number): readonly Change[] => [
  { key: META_KEY, value: encodeMeta(sessionCount) },
  { key: tombstoneKey(tombstone.session_id), value: encodeTombstone(tombstone) },
  { key: sweepKey(tombstone.session_id), value: NOTHING },
  { key: genesisKey(tombstone.session_id), value: null },
  { key: headKey(tombstone.session_id), value: null },
  ...indexChanges(tombstone.session_id, indexed, NOT_INDEXED),
];

/** Why a deletion is refused, or null. The head of a damaged session need not be readable. */
function removalRefusal(
  { session, damaged }: { readonly session: SessionId; readonly damaged: readonly Removal[] | undefined },
  version: Version,
  stored: StoredHeadOf,
): Rejection | null {
  if (!isLeft(stored)) return refusalAt(session, version, stored.right);
  return damaged !== undefined && stored.left.code === 'damaged' ? null : stored.left;
}

/** Why a write at this version is refused, or null. */
function refusalAt(session: SessionId, expected: Version, stored: KnownHead | null): Rejection | null {
  if (stored === null) return unknownSession(session);
  return stored.version === expected ? null : versionConflict(session, expected, stored.version);
}

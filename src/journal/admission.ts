// Decides which writes of a group are admitted, and what they put into the store. Pure: each write is checked, in order of
// arrival, against the stored streams and the earlier writes of the group. There is no other writer, so of two appends at
// the same version exactly one is admitted.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, unreachable } from '../../schemas/rejection.ts';
import { eventRepeated, sessionExists, unknownSession, versionConflict } from './append-rules.ts';
import { META_KEY, genesisKey, headKey } from './keys.ts';
import { encodeHead, encodeMeta } from './stored-values.ts';
import type { Put } from './store.ts';

export interface CreateWrite {
  readonly kind: 'create';
  readonly session: SessionId;
  /** In its stored form. */
  readonly genesis: Uint8Array;
}

export interface AppendWrite {
  readonly kind: 'append';
  readonly session: SessionId;
  readonly expected: Version;
  readonly events: readonly EventId[];
  /** The stretches and index entries, in their stored form for a stream at `expected`. */
  readonly puts: readonly Put[];
  readonly owing: boolean;
}

export type Write = CreateWrite | AppendWrite;

/** The stored version of a session, null when the session does not exist, or the rejection when it cannot be read. */
export type StoredVersion = Either<Rejection, Version | null>;

/** What is stored before the group. */
export interface StreamFacts {
  readonly versionOf: (session: SessionId) => StoredVersion;
  /** Whether the stream of a session contains an event id, before this group. */
  readonly holds: (session: SessionId, event: EventId) => boolean;
  readonly sessionCount: number;
}

export interface Admission {
  /** For each write: the version of its stream after it, or its refusal. */
  readonly answers: readonly Either<Rejection, Version>[];
  readonly puts: readonly Put[];
  /** The versions, after the group, of the sessions that it changed. */
  readonly versions: ReadonlyMap<SessionId, Version>;
  readonly sessionCount: number;
}

export function admitWrites(group: readonly Write[], stored: StreamFacts): Admission {
  const puts: Put[] = [];
  const versions = new Map<SessionId, Version>();
  const added = new Map<SessionId, Set<EventId>>();
  let { sessionCount } = stored;

  const versionOf = (session: SessionId): StoredVersion => {
    const written = versions.get(session);
    return written === undefined ? stored.versionOf(session) : right(written);
  };

  function create({ session, genesis }: CreateWrite, version: Version | null): Either<Rejection, Version> {
    if (version !== null) return left(sessionExists(session));
    const first = 0 as Version;
    sessionCount += 1;
    versions.set(session, first);
    puts.push(
      { key: genesisKey(session), value: genesis },
      { key: headKey(session), value: encodeHead({ version: first, owing: false }) },
      { key: META_KEY, value: encodeMeta(sessionCount) },
    );
    return right(first);
  }

  function append(write: AppendWrite, version: Version | null): Either<Rejection, Version> {
    const { session, expected, events, owing } = write;
    if (version === null) return left(unknownSession(session));
    if (version !== expected) return left(versionConflict(session, expected, version));
    const ids = added.get(session) ?? new Set<EventId>();
    const repeated = events.find((event) => ids.has(event) || stored.holds(session, event));
    if (repeated !== undefined) return left(eventRepeated(session, repeated));
    const after = (version + events.length) as Version;
    puts.push(...write.puts, { key: headKey(session), value: encodeHead({ version: after, owing }) });
    for (const event of events) ids.add(event);
    added.set(session, ids);
    versions.set(session, after);
    return right(after);
  }

  const answers = group.map((write): Either<Rejection, Version> => {
    const version = versionOf(write.session);
    if (isLeft(version)) return version;
    switch (write.kind) {
      case 'create':
        return create(write, version.right);
      case 'append':
        return append(write, version.right);
      default:
        return unreachable(write);
    }
  });
  return { answers, puts, versions, sessionCount };
}

// Which writes of a group are admitted, and what they put into the store. Pure: the group is judged in order of
// arrival against the streams as the store has them, plus what the group itself wrote before. Nothing else writes
// meanwhile, so of two appends at one version exactly one is admitted.
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
  /** As it is stored. */
  readonly genesis: Uint8Array;
}

export interface AppendWrite {
  readonly kind: 'append';
  readonly session: SessionId;
  readonly expected: Version;
  readonly events: readonly EventId[];
  /** Stretches and index, as they are stored when the stream is at `expected`. */
  readonly puts: readonly Put[];
  readonly owing: boolean;
}

export type Write = CreateWrite | AppendWrite;

/** What the store knows of one session: its version, that there is none, or why that cannot be told. */
export type StoredVersion = Either<Rejection, Version | null>;

export interface StreamFacts {
  readonly standing: (session: SessionId) => StoredVersion;
  /** Whether the stream of a session held an event id before this group. */
  readonly holds: (session: SessionId, event: EventId) => boolean;
  readonly sessionCount: number;
}

export interface Admission {
  /** For each write the version of its stream after it, or why it is refused. */
  readonly answers: readonly Either<Rejection, Version>[];
  readonly puts: readonly Put[];
  /** The versions after the group, of the sessions it changed. */
  readonly versions: ReadonlyMap<SessionId, Version>;
  readonly sessionCount: number;
}

export function admit(group: readonly Write[], standings: StreamFacts): Admission {
  const puts: Put[] = [];
  const versions = new Map<SessionId, Version>();
  const added = new Map<SessionId, Set<EventId>>();
  let { sessionCount } = standings;

  const standing = (session: SessionId): StoredVersion => {
    const written = versions.get(session);
    return written === undefined ? standings.standing(session) : right(written);
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
    const repeated = events.find((event) => ids.has(event) || standings.holds(session, event));
    if (repeated !== undefined) return left(eventRepeated(session, repeated));
    const after = (version + events.length) as Version;
    puts.push(...write.puts, { key: headKey(session), value: encodeHead({ version: after, owing }) });
    for (const event of events) ids.add(event);
    added.set(session, ids);
    versions.set(session, after);
    return right(after);
  }

  const answers = group.map((write): Either<Rejection, Version> => {
    const stands = standing(write.session);
    if (isLeft(stands)) return stands;
    switch (write.kind) {
      case 'create':
        return create(write, stands.right);
      case 'append':
        return append(write, stands.right);
      default:
        return unreachable(write);
    }
  });
  return { answers, puts, versions, sessionCount };
}

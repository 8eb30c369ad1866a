// The trail: makes it possible to name the sessions whose writes a damaged log lost. Each commit is one record of LevelDB's
// log, and the log does not show what a lost record contained. So every commit names, under one small key, the sessions
// that earlier commits wrote to, with their versions: the commits after a hole state what the hole contained. The trail of
// a commit covers
//
//   - the commit before it, always;
//   - the last two sectors, or the last two blocks, whenever a sector or block of bytes was written since the last commit
//     that did so: a hole of one sector or block is then covered by some commit after it;
//   - further commits, as long as they add no session name.
//
// A trail does not name the sessions that its own commit writes to: the positions of their new events state their versions.
//
// The covered range is counted in writes, because LevelDB numbers every put and every deletion: the numbers that a hole lost
// follow from the writes on both of its sides.
import { Buffer } from 'node:buffer';
import { SessionId, type Version } from '../../schemas/ids.ts';
import { TRAIL_KEY } from './keys.ts';
import { decodeWhole, encodeNumber, readNumber } from './stored-numbers.ts';
import type { Put } from './store.ts';

type Versions = ReadonlyMap<SessionId, Version>;

/** A sector, which a disk loses as a whole, and a block of its log, which LevelDB's recovery drops as a whole. */
const INTERVAL_BYTES = [4_096, 32_768];
/** The maximum number of commits that are covered only because they add no name. */
const FREE_COMMITS_MAX = 64;

export interface Trail {
  /** How many writes right before the commit belong only to these sessions and to those that the commit writes to. */
  readonly back: number;
  /** The versions after those writes. */
  readonly sessions: Versions;
}

/** The commits in the current log, as its only writer remembers them. */
export interface TrailWriter {
  /** The trail to include in a commit that leads to these versions. */
  put(versions: Versions): Put;
  /** Notes a commit that is on disk, with this many puts and deletions, and bytes. */
  written(versions: Versions, writes: number, bytes: number): void;
  /** Forgets all commits, because a new log began. */
  forget(): void;
}

interface Commit {
  readonly versions: Versions;
  readonly writes: number;
}

interface Interval {
  readonly bytes: number;
  /** Bytes written after the last commit that covered two intervals. */
  since: number;
  /** Commits from that commit on, including it. */
  commits: number;
  /** Commits between the previous such commit and that one. */
  before: number;
}

export function newTrailWriter(): TrailWriter {
  const recent: Commit[] = [];
  let intervals = newIntervals();

  /** How many commits the next trail must cover. */
  function depthOf(): number {
    const due = intervals.filter(({ bytes, since }) => since >= bytes).map(({ commits, before }) => commits + before);
    return Math.min(recent.length, Math.max(1, ...due));
  }

  return {
    put(versions) {
      const sessions = new Map<SessionId, Version>();
      const depth = depthOf();
      let back = 0;
      for (let at = recent.length - 1, steps = 0; at >= 0; at -= 1, steps += 1) {
        const commit = recent[at] as Commit;
        if (steps >= depth && (steps > FREE_COMMITS_MAX || addsNames(commit.versions, sessions, versions))) break;
        for (const [session, version] of commit.versions) {
          if (!sessions.has(session) && !versions.has(session)) sessions.set(session, version);
        }
        back += commit.writes;
      }
      return { key: TRAIL_KEY, value: encodeTrail({ back, sessions }) };
    },
    written(versions, writes, bytes) {
      recent.push({ versions, writes });
      for (const interval of intervals) {
        const isDue = interval.since >= interval.bytes;
        interval.since = isDue ? 0 : interval.since + bytes;
        interval.before = isDue ? interval.commits : interval.before;
        interval.commits = isDue ? 1 : interval.commits + 1;
      }
      const needed = Math.max(FREE_COMMITS_MAX, ...intervals.map(({ commits, before }) => commits + before));
      // Not at every commit, because removing the first entries moves all others.
      if (recent.length > 2 * needed) recent.splice(0, recent.length - needed);
    },
    forget() {
      recent.length = 0;
      intervals = newIntervals();
    },
  };
}

function addsNames(commit: Versions, named: Versions, own: Versions): boolean {
  for (const session of commit.keys()) if (!named.has(session) && !own.has(session)) return true;
  return false;
}

const newIntervals = (): readonly Interval[] =>
  INTERVAL_BYTES.map((bytes) => ({ bytes, since: 0, commits: 0, before: 0 }));

/** The covered number of writes; then, for each session, its version, the length of its id and its id. */
export function encodeTrail({ back, sessions }: Trail): Uint8Array {
  const parts = [encodeNumber(back)];
  for (const [session, version] of sessions) {
    parts.push(encodeNumber(version), Buffer.of(session.length), Buffer.from(session, 'latin1'));
  }
  return Buffer.concat(parts);
}

export const decodeTrail = (bytes: Uint8Array): Trail | null =>
  decodeWhole(bytes, (reader) => {
    const back = readNumber(reader);
    const sessions = new Map<SessionId, Version>();
    while (!reader.atEnd) {
      const version = readNumber(reader) as Version;
      const session = reader.take(reader.byte()).toString('latin1');
      if (!SessionId.is(session)) throw new RangeError('a trail contains an invalid session id');
      sessions.set(session, version);
    }
    return { back, sessions };
  });

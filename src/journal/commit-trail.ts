// Whose writes a damaged log held. Each commit is one record of LevelDB's log; when one is lost, the log itself cannot
// tell what was in it. So every commit names, under one small key, the sessions that the commits before it wrote to, with
// their versions: what is left behind a hole says what the hole took. It goes back
//
//   - over the last commit, always;
//   - over the last two sectors, or blocks, once so many bytes were written since that was done last: a hole of one
//     sector or block then lies in what some commit behind it names;
//   - over whatever more it can take without another name.
//
// Sessions that a commit writes to itself are not named by it: their events begin where they stood.
//
// How far back it goes is counted in puts, because LevelDB numbers every put: the numbers of those that a hole took
// show on both its sides.
import { Buffer } from 'node:buffer';
import { SessionId, type Version } from '../../schemas/ids.ts';
import { TRAIL_KEY } from './keys.ts';
import { decodeWhole, encodeNumber, readNumber } from './stored-numbers.ts';
import type { Put } from './store.ts';

type Versions = ReadonlyMap<SessionId, Version>;

/** What a disk loses at once, and what LevelDB's own recovery drops. */
const INTERVAL_BYTES = [4_096, 32_768];
/** Commits that are looked at for whether they can be named for nothing. */
const COMMITS_FOR_NOTHING = 64;

export interface Trail {
  /** How many puts, right before the commit that says so, all belong to these sessions and to those it writes to. */
  readonly back: number;
  /** The versions after those puts. */
  readonly sessions: Versions;
}

/** The only writer's memory of what it wrote since its log was begun. */
export interface TrailWriter {
  /** The put that has to go into a commit of these sessions. */
  put(versions: Versions): Put;
  /** The commit is on disk, with this many puts and bytes. */
  written(versions: Versions, puts: number, bytes: number): void;
  /** Another log was begun. */
  forget(): void;
}

interface Commit {
  readonly versions: Versions;
  readonly puts: number;
}

interface Interval {
  readonly bytes: number;
  /** Since the commit that went back over the last two: bytes behind it, and commits with it. */
  since: number;
  commits: number;
  /** Commits from the one before that, up to it. */
  before: number;
}

export function newTrailWriter(): TrailWriter {
  const recent: Commit[] = [];
  let intervals = newIntervals();

  /** How many commits have to be named. */
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
        if (steps >= depth && (steps > COMMITS_FOR_NOTHING || namesMore(commit.versions, sessions, versions))) break;
        for (const [session, version] of commit.versions) {
          if (!sessions.has(session) && !versions.has(session)) sessions.set(session, version);
        }
        back += commit.puts;
      }
      return { key: TRAIL_KEY, value: encodeTrail({ back, sessions }) };
    },
    written(versions, puts, bytes) {
      recent.push({ versions, puts });
      for (const interval of intervals) {
        const isDue = interval.since >= interval.bytes;
        interval.since = isDue ? 0 : interval.since + bytes;
        interval.before = isDue ? interval.commits : interval.before;
        interval.commits = isDue ? 1 : interval.commits + 1;
      }
      const needed = Math.max(COMMITS_FOR_NOTHING, ...intervals.map(({ commits, before }) => commits + before));
      // Not at every commit, because it moves all that are kept.
      if (recent.length > 2 * needed) recent.splice(0, recent.length - needed);
    },
    forget() {
      recent.length = 0;
      intervals = newIntervals();
    },
  };
}

function namesMore(commit: Versions, named: Versions, own: Versions): boolean {
  for (const session of commit.keys()) if (!named.has(session) && !own.has(session)) return true;
  return false;
}

const newIntervals = (): readonly Interval[] =>
  INTERVAL_BYTES.map((bytes) => ({ bytes, since: 0, commits: 0, before: 0 }));

/** How far back, then version, length of the id and id of each session. */
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
      if (!SessionId.is(session)) throw new RangeError('a trail names no session');
      sessions.set(session, version);
    }
    return { back, sessions };
  });

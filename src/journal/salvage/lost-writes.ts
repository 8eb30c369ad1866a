// Finds the sessions whose writes a damaged log lost. LevelDB numbers every put, so a hole shows as numbers that are missing
// between two commits. All missing numbers must be covered: by the trails of later commits (commit-trail.ts), or by the
// file that a clean stop wrote (level/closed-file.ts).
import type { SessionId, Version } from '../../../schemas/ids.ts';
import { TRAIL_KEY } from '../keys.ts';
import type { VerifiedFiles } from '../level/verify-files.ts';
import { spanOfBatch, writeOf } from '../level/write-batch.ts';
import { decodeTrail } from '../commit-trail.ts';

/** Sequence numbers, `to` excluded. */
interface Numbers {
  readonly from: number;
  readonly to: number;
}

export interface LostWrites {
  /** Whether any write is lost. */
  readonly isLossy: boolean;
  /** For every session that the logs name, the newest version that they state: it had at least this one. */
  readonly named: ReadonlyMap<SessionId, Version>;
  /** Whether there are lost writes whose sessions nothing names. */
  readonly unnamed: boolean;
}

/** `tablesEnd`: the number after the newest write that is in a table. */
export function findLostWrites(files: VerifiedFiles, tablesEnd: number): LostWrites {
  const { logs, closed } = files;
  const named = new Map<SessionId, Version>();
  const covered: Numbers[] = [];
  const cover = (numbers: Numbers, sessions: ReadonlyMap<SessionId, Version>): void => {
    covered.push(numbers);
    for (const [id, version] of sessions) if (version >= (named.get(id) ?? 0)) named.set(id, version);
  };
  for (const { bytes } of logs.flatMap(({ records }) => records)) {
    const value = writeOf(bytes, TRAIL_KEY);
    const trail = value === null ? null : decodeTrail(value);
    const { first } = spanOfBatch(bytes);
    if (trail !== null) cover({ from: first - trail.back, to: first }, trail.sessions);
  }
  if (closed !== null) cover({ from: closed.first, to: closed.end }, closed.sessions);
  const lost = holesIn(files, tablesEnd);
  return { isLossy: lost.length > 0, named, unnamed: lost.some((hole) => !isCovered(hole, covered)) };
}

/** The missing numbers. Numbers may also be missing between two logs without damage: those writes are in tables. */
function holesIn({ logs, closed, isOneMissing }: VerifiedFiles, tablesEnd: number): readonly Numbers[] {
  const holes: Numbers[] = [];
  const miss = (from: number, to: number): void => {
    if (from < to) holes.push({ from, to });
  };
  let mayMiss = isOneMissing;
  let next = tablesEnd;
  for (const { records, faults, lostFrom } of logs) {
    const [first] = records;
    if (first !== undefined) {
      const begin = spanOfBatch(first.bytes).first;
      if (mayMiss || faults.some(({ at }) => at < first.at)) miss(next, begin);
      next = begin;
      mayMiss = false;
    }
    for (const { bytes } of records) {
      const span = spanOfBatch(bytes);
      miss(next, span.first);
      next = span.end;
    }
    mayMiss ||= lostFrom !== null;
  }
  // Without the file of a clean stop, the end of the lost writes is unknown.
  if (mayMiss) miss(next, closed === null || closed.end === 0 ? Number.POSITIVE_INFINITY : closed.end);
  return holes;
}

function isCovered({ from, to }: Numbers, covered: readonly Numbers[]): boolean {
  let at = from;
  for (const span of [...covered].sort((a, b) => a.from - b.from)) if (span.from <= at) at = Math.max(at, span.to);
  return at >= to;
}

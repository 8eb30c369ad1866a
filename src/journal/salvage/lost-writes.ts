// Which sessions wrote what a damaged log lost. LevelDB numbers every put, so that a hole shows as numbers that are
// missing between two commits; what the commits behind it name (trail.ts), or what was put on record when the journal was
// closed, has to go back over all of them.
import type { SessionId, Version } from '../../../schemas/ids.ts';
import { TRAIL_KEY } from '../keys.ts';
import type { VerifiedFiles } from '../level/verify-files.ts';
import { spanOfBatch, writeOf } from '../level/write-batch.ts';
import { decodeTrail } from '../commit-trail.ts';

/** Sequence numbers, the last one not in it. */
interface Numbers {
  readonly from: number;
  readonly to: number;
}

export interface LostWrites {
  /** Whether any write is lost. */
  readonly isLossy: boolean;
  /** The versions that sessions had at least, of all that the logs name. */
  readonly named: ReadonlyMap<SessionId, Version>;
  /** Whether writes are lost of which nobody can tell whose they were. */
  readonly unnamed: boolean;
}

/** `tablesEnd`: the number behind the newest write that is in a table. */
export function findLostWrites(files: VerifiedFiles, tablesEnd: number): LostWrites {
  const { logs, closed } = files;
  const named = new Map<SessionId, Version>();
  const told: Numbers[] = [];
  const tell = (numbers: Numbers, sessions: ReadonlyMap<SessionId, Version>): void => {
    told.push(numbers);
    for (const [id, version] of sessions) if (version >= (named.get(id) ?? 0)) named.set(id, version);
  };
  for (const { bytes } of logs.flatMap(({ records }) => records)) {
    const value = writeOf(bytes, TRAIL_KEY);
    const trail = value === null ? null : decodeTrail(value);
    const { first } = spanOfBatch(bytes);
    if (trail !== null) tell({ from: first - trail.back, to: first }, trail.sessions);
  }
  if (closed !== null) tell({ from: closed.first, to: closed.end }, closed.sessions);
  const lost = holesIn(files, tablesEnd);
  return { isLossy: lost.length > 0, named, unnamed: lost.some((hole) => !isTold(hole, told)) };
}

/** The numbers that are missing. Between two logs they may be for a good reason: the tables have them. */
function holesIn({ logs, closed, isOneGone }: VerifiedFiles, tablesEnd: number): readonly Numbers[] {
  const holes: Numbers[] = [];
  const miss = (from: number, to: number): void => {
    if (from < to) holes.push({ from, to });
  };
  let mayMiss = isOneGone;
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
  // Without a word of when the journal was closed nobody knows how much it was.
  if (mayMiss) miss(next, closed === null || closed.end === 0 ? Number.POSITIVE_INFINITY : closed.end);
  return holes;
}

function isTold({ from, to }: Numbers, told: readonly Numbers[]): boolean {
  let at = from;
  for (const span of [...told].sort((a, b) => a.from - b.from)) if (span.from <= at) at = Math.max(at, span.to);
  return at >= to;
}

// Which sessions wrote what a damaged log lost. LevelDB numbers every put, so that a hole shows as numbers that are
// missing between two commits; what the commits behind it name (trail.ts), or what was put on record when the journal was
// closed, has to go back over all of them.
import type { SessionId, Version } from '../../schemas/ids.ts';
import { TRAIL_KEY } from './keys.ts';
import type { VerifiedFiles } from './level-files.ts';
import { spanOfBatch, writeOf } from './level-writes.ts';
import { decodeTrail } from './trail.ts';

/** Sequence numbers, the last one not in it. */
interface Numbers {
  readonly from: number;
  readonly to: number;
}

export interface LogDamage {
  /** Whether any write is lost. */
  readonly isLossy: boolean;
  /** The versions that sessions had at least, of all that the logs name. */
  readonly named: ReadonlyMap<SessionId, Version>;
  /** Lost writes of which nobody can tell whose they were; null when there are none. */
  readonly unnamed: Numbers | null;
}

/** `tablesEnd`: the number behind the newest write that is in a table. */
export function surveyLogs({ logs, closed }: VerifiedFiles, tablesEnd: number): LogDamage {
  const named = new Map<SessionId, Version>();
  const told: Numbers[] = [];
  const lost: Numbers[] = [];
  const name = (sessions: ReadonlyMap<SessionId, Version>): void => {
    for (const [id, version] of sessions) if (version >= (named.get(id) ?? 0)) named.set(id, version);
  };
  let next = tablesEnd;
  // Between logs numbers may be missing for a good reason: the tables have them.
  let isHole = closed !== null && [...closed.sizes.keys()].some((file) => logs.every((log) => log.name !== file));
  for (const { records, faults, lostFrom } of logs) {
    const [fault] = faults;
    isHole ||= fault !== undefined && fault.at < (records[0]?.at ?? Number.POSITIVE_INFINITY);
    for (const { bytes } of records) {
      const { first, end } = spanOfBatch(bytes);
      if (isHole && first > next) lost.push({ from: next, to: first });
      const value = writeOf(bytes, TRAIL_KEY);
      const trail = value === null ? null : decodeTrail(value);
      if (trail !== null) {
        told.push({ from: first - trail.back, to: first });
        name(trail.sessions);
      }
      next = Math.max(next, end);
      isHole = true;
    }
    isHole = lostFrom !== null || (records.length === 0 && isHole);
  }
  if (isHole) {
    // Without a word of when the journal was closed nobody knows how much it was.
    const to = closed === null || closed.end === 0 ? Number.POSITIVE_INFINITY : closed.end;
    if (to > next) lost.push({ from: next, to });
  }
  if (closed !== null) {
    told.push({ from: closed.first, to: closed.end });
    name(closed.sessions);
  }
  return { isLossy: lost.length > 0, named, unnamed: firstUntold(lost, told) };
}

function firstUntold(lost: readonly Numbers[], told: readonly Numbers[]): Numbers | null {
  const inOrder = [...told].sort((a, b) => a.from - b.from);
  for (const { from, to } of lost) {
    let at = from;
    for (const span of inOrder) if (span.from <= at) at = Math.max(at, span.to);
    if (at < to) return { from: at, to };
  }
  return null;
}

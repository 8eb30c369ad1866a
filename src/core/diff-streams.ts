// How two recorded streams differ: the first position with different events, and the differences of the states there and
// at the end. Both are folded record by record, so that streams of any length need the memory of two states.
import type { StreamRecord } from '../../schemas/record.ts';
import { type IgnorePath, type JsonDiff, diffJson } from './diff.ts';
import { type Divergence, newReplayer } from './replay.ts';

export interface StreamDiffOptions {
  /** Compares everything. By default {@link IGNORED_IN_RECORDS} and {@link IGNORED_IN_STATE} are left out. */
  readonly strict: boolean;
  /** Most paths kept of each comparison. */
  readonly pathsMax: number;
}

/** The first position at which the events differ; -1 is the genesis record. */
export interface FirstDifference {
  readonly position: number;
  /** The kind of the record of each stream; null when the stream has ended. */
  readonly a: string | null;
  readonly b: string | null;
  /** Paths into the two exported records. Empty when one stream has ended. */
  readonly paths: JsonDiff;
}

export interface StreamDiff {
  readonly first: FirstDifference | null;
  /** The differences of the states after the first different events; null when there are none. */
  readonly stateAfterFirst: JsonDiff | null;
  readonly stateAtEnd: JsonDiff;
  readonly events: { readonly a: number; readonly b: number };
  /** A stream that does not fold as recorded; nothing after that position was compared. */
  readonly divergence: { readonly stream: 'a' | 'b'; readonly divergence: Divergence } | null;
}

export interface StreamDiffer {
  /** Takes the next record of each stream, null when it has ended. False when no further record is needed. */
  add(a: StreamRecord | null, b: StreamRecord | null): boolean;
  result(): StreamDiff;
}

/** Ids, times and the digests that depend on them: two runs of the same session differ in these. `*` is any index. */
export const IGNORED_IN_RECORDS = [
  '/event/event_id',
  '/event/at_ms',
  '/event_digest',
  '/state_digest',
  '/chain',
  '/genesis/session_id',
  '/genesis/created_at_ms',
  '/genesis/forked_from',
] as const;

export const IGNORED_IN_STATE = [
  '/session_id',
  '/genesis_digest',
  '/created_at_ms',
  '/updated_at_ms',
  '/run/started_at_ms',
  '/run_history/*/started_at_ms',
  '/run_history/*/ended_at_ms',
] as const;

export function newStreamDiffer({ strict, pathsMax }: StreamDiffOptions): StreamDiffer {
  const replayers = { a: newReplayer(), b: newReplayer() };
  const ignoreInRecords = strict ? ignoring([]) : ignoring(IGNORED_IN_RECORDS);
  const ignoreInState = strict ? ignoring([]) : ignoring(IGNORED_IN_STATE);
  let position = -1;
  let first: FirstDifference | null = null;
  let stateAfterFirst: JsonDiff | null = null;
  let divergence: StreamDiff['divergence'] = null;

  function fold(stream: 'a' | 'b', record: StreamRecord | null): void {
    if (record === null || replayers[stream].add(record) || divergence !== null) return;
    const found = replayers[stream].result().divergence;
    if (found !== null) divergence = { stream, divergence: found };
  }

  function compareStates(): JsonDiff {
    const [a, b] = [replayers.a.result().state, replayers.b.result().state];
    return diffJson(a, b, pathsMax, ignoreInState);
  }

  function compareRecords(a: StreamRecord | null, b: StreamRecord | null): FirstDifference | null {
    if (a !== null && b !== null) {
      const paths = diffJson(a, b, pathsMax, ignoreInRecords);
      return paths.differences.length + paths.rest === 0 ? null : { position, a: nameOf(a), b: nameOf(b), paths };
    }
    return { position, a: nameOf(a), b: nameOf(b), paths: { differences: [], rest: 0 } };
  }

  return {
    add(a, b) {
      if (divergence !== null || (a === null && b === null)) return false;
      fold('a', a);
      fold('b', b);
      if (divergence !== null) return false;
      if (first === null) {
        first = compareRecords(a, b);
        if (first !== null) stateAfterFirst = compareStates();
      }
      position += 1;
      return true;
    },
    result: () => ({
      first,
      stateAfterFirst,
      stateAtEnd: compareStates(),
      events: { a: replayers.a.result().events, b: replayers.b.result().events },
      divergence: divergence ?? emptyStream(replayers),
    }),
  };
}

/** Compares two whole streams. */
export function diffStreams(
  a: Iterable<StreamRecord>,
  b: Iterable<StreamRecord>,
  options: StreamDiffOptions,
): StreamDiff {
  const differ = newStreamDiffer(options);
  const [left, right] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  while (differ.add(nextOf(left), nextOf(right)));
  return differ.result();
}

function nextOf(records: Iterator<StreamRecord>): StreamRecord | null {
  const next = records.next();
  return next.done === true ? null : next.value;
}

function emptyStream(replayers: Readonly<Record<'a' | 'b', ReturnType<typeof newReplayer>>>): StreamDiff['divergence'] {
  for (const stream of ['a', 'b'] as const) {
    const { divergence } = replayers[stream].result();
    if (divergence !== null) return { stream, divergence };
  }
  return null;
}

const nameOf = (record: StreamRecord | null): string | null =>
  record === null ? null : record.kind === 'genesis' ? 'genesis' : record.event.kind;

function ignoring(paths: readonly string[]): IgnorePath {
  const ignored = new Set(paths);
  return (path) => ignored.has(path.replaceAll(/\/\d+(?=\/|$)/g, '/*'));
}

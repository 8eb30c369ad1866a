// How two recorded streams differ: the first position with different events, and the differences of the states there and
// at the end. Both are folded commit by commit, so that streams of any length need the memory of two states and the events
// of two commits.
import type { JsonObject } from '../../../schemas/json.ts';
import { type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type IgnorePath, type JsonDiff, diffJson } from './diff.ts';
import { type Divergence, type Replayer, newReplayer } from '../replay.ts';

export interface StreamDiffOptions {
  /** Compares everything. By default {@link IGNORED_IN_RECORDS} and {@link IGNORED_IN_STATE} are left out. */
  readonly strict: boolean;
  /** Most paths kept of each comparison. */
  readonly pathsMax: number;
  /** How many events of each stream are compared; all of them when absent. */
  readonly at?: number;
}

/** The first position at which the events differ; -1 is the genesis record. */
export interface FirstDifference {
  readonly position: number;
  /** The kind of the record of each stream; null when the stream has ended. */
  readonly a: string | null;
  readonly b: string | null;
  /** Paths into the genesis records, or into the events with the digests of the commits that end with them. */
  readonly paths: JsonDiff;
}

export interface StreamDiff {
  readonly first: FirstDifference | null;
  /** The differences of the states after the first different events; null when there are none. */
  readonly stateAfterFirst: JsonDiff | null;
  readonly stateAtEnd: JsonDiff;
  readonly events: { readonly a: number; readonly b: number };
  /** A stream that does not fold as recorded; nothing after that commit was compared. */
  readonly divergence: { readonly stream: 'a' | 'b'; readonly divergence: Divergence } | null;
}

/** Compares two streams that are read side by side, although their commits may end at different events. */
export interface StreamDiffer {
  /** The stream whose next record is needed; null when the comparison is over. */
  wants(): 'a' | 'b' | null;
  /** Takes the next record of the stream that {@link wants} names; null when the stream has ended. */
  add(record: StreamRecord | null): void;
  result(): StreamDiff;
}

/** Ids, times and what depends on them or on how events were sent together: two runs of a session differ in these. */
export const IGNORED_IN_RECORDS = [
  '/event/event_id',
  '/event/at_ms',
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

/** What is compared at one position: the genesis record, or an event with the digests of the commit that ends with it. */
interface Item {
  readonly kind: string;
  readonly value: JsonObject;
  readonly state: SessionState;
}

/** One of the two streams, as far as it was read. */
interface Side {
  readonly replayer: Replayer;
  /** What was read and not compared yet: at most one commit. */
  readonly items: Item[];
  /** How many events of it are compared. */
  readonly at: number;
  /** The state after the last compared item. */
  state: SessionState | null;
  ended: boolean;
}

export function newStreamDiffer({ strict, pathsMax, at = Infinity }: StreamDiffOptions): StreamDiffer {
  const sides = { a: newSide(at), b: newSide(at) };
  const ignoreInRecords = strict ? ignoring([]) : ignoring(IGNORED_IN_RECORDS);
  const ignoreInState = strict ? ignoring([]) : ignoring(IGNORED_IN_STATE);
  let position = -1;
  let first: FirstDifference | null = null;
  let stateAfterFirst: JsonDiff | null = null;
  let divergence: StreamDiff['divergence'] = null;

  const isWanted = ({ items, ended }: Side): boolean => items.length === 0 && !ended;

  function wants(): 'a' | 'b' | null {
    if (divergence !== null) return null;
    return isWanted(sides.a) ? 'a' : isWanted(sides.b) ? 'b' : null;
  }

  const compareStates = (): JsonDiff => diffJson(sides.a.state, sides.b.state, pathsMax, ignoreInState);

  function compareNext(): void {
    const [a, b] = [sides.a.items.shift() ?? null, sides.b.items.shift() ?? null];
    sides.a.state = a?.state ?? sides.a.state;
    sides.b.state = b?.state ?? sides.b.state;
    if (first === null) {
      first = compareItems(a, b);
      if (first !== null) stateAfterFirst = compareStates();
    }
    position += 1;
  }

  function compareItems(a: Item | null, b: Item | null): FirstDifference | null {
    const at = { position, a: a?.kind ?? null, b: b?.kind ?? null };
    if (a === null || b === null) return { ...at, paths: { differences: [], rest: 0 } };
    const paths = diffJson(a.value, b.value, pathsMax, ignoreInRecords);
    return paths.differences.length + paths.rest === 0 ? null : { ...at, paths };
  }

  const isReady = ({ items, ended }: Side): boolean => items.length > 0 || ended;

  return {
    wants,
    add(record) {
      const stream = wants();
      if (stream === null) return;
      const side = sides[stream];
      if (record === null) side.ended = true;
      else if (!side.replayer.add(record)) {
        const found = side.replayer.result().divergence;
        if (found !== null) divergence = { stream, divergence: found };
      }
      if (divergence !== null) return;
      if (record !== null) addItems(side, record);
      const { state, events } = side.replayer.result();
      side.ended ||= state !== null && events >= at;
      while (isReady(sides.a) && isReady(sides.b) && sides.a.items.length + sides.b.items.length > 0) compareNext();
    },
    result: () => ({
      first,
      stateAfterFirst,
      stateAtEnd: compareStates(),
      events: { a: comparedOf(sides.a), b: comparedOf(sides.b) },
      divergence: divergence ?? emptyStream(sides),
    }),
  };
}

const comparedOf = ({ replayer, at }: Side): number => Math.min(replayer.result().events, at);

function newSide(at: number): Side {
  const items: Item[] = [];
  const replayer = newReplayer(({ position, event, after }) => {
    if (position < at) items.push({ kind: event.kind, value: { event }, state: after });
  });
  return { replayer, items, at, state: null, ended: false };
}

/** Completes the items of a record that was folded. */
function addItems({ replayer, items, at }: Side, record: StreamRecord): void {
  const { state } = replayer.result();
  if (record.kind === 'package' || state === null) return;
  if (record.kind === 'genesis') items.push({ kind: record.kind, value: record, state });
  const last = items.at(-1);
  if (record.kind === 'commit' && last !== undefined && versionAfter(record) <= at) {
    const { state_digest, chain } = record;
    items[items.length - 1] = { ...last, value: { ...last.value, state_digest, chain } };
  }
}

/** Compares two whole streams. */
export function diffStreams(
  a: Iterable<StreamRecord>,
  b: Iterable<StreamRecord>,
  options: StreamDiffOptions,
): StreamDiff {
  const differ = newStreamDiffer(options);
  const records = { a: a[Symbol.iterator](), b: b[Symbol.iterator]() };
  for (let stream = differ.wants(); stream !== null; stream = differ.wants()) differ.add(nextOf(records[stream]));
  return differ.result();
}

function nextOf(records: Iterator<StreamRecord>): StreamRecord | null {
  const next = records.next();
  return next.done === true ? null : next.value;
}

function emptyStream(sides: Readonly<Record<'a' | 'b', Side>>): StreamDiff['divergence'] {
  for (const stream of ['a', 'b'] as const) {
    const { divergence } = sides[stream].replayer.result();
    if (divergence !== null) return { stream, divergence };
  }
  return null;
}

function ignoring(paths: readonly string[]): IgnorePath {
  const ignored = new Set(paths);
  return (path) => ignored.has(path.replaceAll(/\/\d+(?=\/|$)/g, '/*'));
}

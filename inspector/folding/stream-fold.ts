// Reads one source to its end and folds it, in slices, then goes on with what comes. Two checks run beside each other: the
// chain values, and the fold to the recorded state digests; where one of them stops the other goes on. Of the fold it keeps
// a state for every 256 events, a byte for each event, and where the turns are.
import type { Position } from '../../schemas/ids.ts';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { InvariantError } from '../../schemas/rejection.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import {
  type ChainChecked,
  type Divergence,
  type FoldedEvent,
  type ReplayStart,
  type ToolHistory,
  newChainCheck,
  newReplayer,
  newToolHistory,
} from '../../src/core/index.ts';
import { EMPTY } from '../../src/core/replay.ts';
import type { Progress } from '../protocol.ts';
import { type RecordSource, SourceFault } from '../records/record-source.ts';
import { type KeptStates, newKeptStates } from './kept-states.ts';
import { type MarkIndex, foldedMarks, newMarkIndex } from './marks.ts';
import { Refused } from './refused.ts';
import { type Slices, Stopped, newSlices } from './slices.ts';
import { type TurnIndex, newTurnIndex } from './turn-index.ts';
import { type UndoIndex, newUndoIndex } from './undo-index.ts';

export interface StreamFold {
  readonly source: RecordSource;
  readonly marks: MarkIndex;
  readonly turns: TurnIndex;
  readonly tools: ToolHistory;
  readonly undos: UndoIndex;
  readonly kept: KeptStates;
  /** Reads and folds all there is, then follows; resolves when the source is at its end, or {@link stop} was called. */
  run(): Promise<void>;
  stop(): void;
  progress(): Progress;
  /** The genesis record as it was read; null before it. */
  genesis(): Genesis | null;
  /** After the last commit that was folded to its recorded digest; null before the genesis record. */
  now(): ReplayStart | null;
  chain(): ChainChecked;
  /** The first fault of the fold; null while there is none. */
  fault(): Divergence | null;
  /** The last commit that was read; null before the first. */
  last(): CommitRecord | null;
  /** Why the source cannot be read any further; null while it can. */
  unreadable(): SourceFault | null;
  /** Resolves when so many events are folded; throws {@link Refused} when the fold ends before. */
  reached(at: number): Promise<void>;
  /** Resolves when everything that the source has was read, or cannot be. */
  settled(): Promise<void>;
  /** The state after so many events. */
  stateAt(at: number): Promise<SessionState>;
  /** Folds the events from one position to before another one again, in slices. */
  foldAgain(from: number, to: number, visit: (folded: FoldedEvent) => void, signal?: AbortSignal): Promise<void>;
}

export interface FoldListener {
  /** Something was read; called once a slice. */
  readonly read?: () => void;
  readonly delta?: (frame: DeltaFrame) => void;
  /** New commits came after the stored ones, from this position on. */
  readonly grown?: (from: number) => void;
}

/** How many states that were folded again are remembered. */
const SEEKS_KEPT = 4;

export function newStreamFold(source: RecordSource, listener: FoldListener = {}): StreamFold {
  const stopping = new AbortController();
  const slices = newSlices(stopping.signal);
  const found = newFound();
  const sought = new Map<number, SessionState>();
  const waiting = new Set<{
    readonly at: number;
    readonly resolve: () => void;
    readonly reject: (why: Error) => void;
  }>();
  let total: number | null = null;
  let done = false;
  let unreadable: SourceFault | null = null;

  const folded = (): number => found.now()?.state.version ?? 0;
  const isAt = (at: number): boolean => found.now() !== null && folded() >= at;
  const hasEnded = (): boolean => done || found.fault() !== null;

  function tell(): void {
    for (const waiter of waiting) {
      if (!isAt(waiter.at) && !hasEnded()) continue;
      waiting.delete(waiter);
      if (isAt(waiter.at)) waiter.resolve();
      else waiter.reject(notFolded(waiter.at, folded(), found.fault()));
    }
    listener.read?.();
  }

  async function readStored(): Promise<void> {
    for await (const records of source.records()) {
      for (const record of records) {
        found.add(record);
        if (!slices.isOver()) continue;
        tell();
        await slices.breathe();
      }
    }
  }

  async function follow(): Promise<void> {
    if (source.follow === undefined) return;
    for await (const item of source.follow(found.read(), stopping.signal)) {
      if (item.kind === 'delta') {
        listener.delta?.(item);
        continue;
      }
      const from = found.read();
      found.add(item);
      total = Math.max(total ?? 0, found.read());
      tell();
      listener.grown?.(from);
      await slices.breathe();
    }
  }

  async function run(): Promise<void> {
    try {
      total = await source.total().catch(() => null);
      listener.read?.();
      await readStored();
      total = found.read();
      done = true;
      found.close();
      tell();
      await follow();
    } catch (error) {
      if (error instanceof Stopped) return;
      unreadable = faultOf(error);
      if (unreadable.inStream) found.breakAt(unreadable);
    } finally {
      done = true;
      tell();
    }
  }

  const reached = async (at: number): Promise<void> => {
    if (isAt(at)) return;
    if (hasEnded()) throw notFolded(at, folded(), found.fault());
    await new Promise<void>((resolve, reject) => void waiting.add({ at, resolve, reject }));
  };

  async function foldAgain(
    from: number,
    to: number,
    visit: (event: FoldedEvent) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    await reached(to);
    const start = found.kept.before(from);
    if (start === undefined || from >= to) return;
    await foldFrom(source, { start, from, to, statesOnly: found.chain().fault !== null }, visit, newSlices(signal));
  }

  async function stateAt(at: number): Promise<SessionState> {
    await reached(at);
    const now = found.now();
    if (now !== null && now.state.version === at) return now.state;
    let state = sought.get(at) ?? found.kept.before(at)?.state;
    if (state === undefined) throw notFolded(at, folded(), found.fault());
    if (state.version === at) return state;
    await foldAgain(state.version, at, ({ after }) => (state = after));
    sought.set(at, state);
    for (const oldest of sought.keys()) if (sought.size > SEEKS_KEPT) sought.delete(oldest);
    return state;
  }

  return {
    source,
    ...found,
    run,
    stop: () => stopping.abort(),
    progress: () => ({ read: found.read(), folded: folded(), total, done }),
    unreadable: () => unreadable,
    reached,
    settled: () => reached(Infinity).catch(() => undefined),
    stateAt,
    foldAgain,
  };
}

const notFolded = (at: number, folded: number, fault: Divergence | null): Refused =>
  new Refused({
    code: 'not_folded',
    message:
      fault === null
        ? `there are only ${folded} events, so there is no state after ${at}`
        : `the stream does not fold as recorded after ${folded} events: ${fault.message}`,
    advice: '',
  });

const faultOf = (error: unknown): SourceFault =>
  error instanceof SourceFault
    ? error
    : new SourceFault({ code: 'internal', message: error instanceof Error ? error.message : String(error) }, false);

interface Range {
  readonly start: ReplayStart;
  readonly from: number;
  readonly to: number;
  readonly statesOnly: boolean;
}

async function foldFrom(
  source: RecordSource,
  { start, from, to, statesOnly }: Range,
  visit: (folded: FoldedEvent) => void,
  slices: Slices,
): Promise<void> {
  const replayer = newReplayer(
    (folded) => {
      if (folded.position >= from && folded.position < to) visit(folded);
    },
    { from: start, statesOnly },
  );
  for await (const commits of source.commitsFrom(start.state.version)) {
    for (const commit of commits) {
      if (!replayer.add(commit)) {
        const message = `the source has other events now than when it was first read: ${replayer.result().divergence?.message}`;
        throw new Refused({ code: 'unreadable', message, advice: 'Open it again.' });
      }
      if (versionAfter(commit) >= to) return;
      await slices.breathe();
    }
  }
}

/** What is found in the records, in order. */
function newFound() {
  const [marks, turns, tools, kept] = [newMarkIndex(), newTurnIndex(), newToolHistory(), newKeptStates()];
  const undos = newUndoIndex();
  const chainCheck = newChainCheck();
  const commit: FoldedEvent[] = [];
  const replayer = newReplayer((folded) => commit.push(folded), { statesOnly: true });
  let genesis: Genesis | null = null;
  let last: CommitRecord | null = null;
  let now: ReplayStart | null = null;
  let fault: Divergence | null = null;
  let broken: Divergence | null = null;
  let lost: number | null = null;
  let isClosed = false;

  function fold(record: StreamRecord): void {
    fault = addSafely(replayer, record);
    if (fault !== null || record.kind === 'package') return;
    const { state } = replayer.result();
    if (state === null) return;
    now = { state, chain: record.chain };
    kept.add(now);
    for (const folded of commit.splice(0)) {
      marks.add(foldedMarks(folded));
      turns.add(folded);
      tools.add(folded);
      undos.add(folded);
    }
  }

  /** The position after what was checked; -1 before the genesis record. */
  const endOf = (events: number, isBegun: boolean): Position => (isBegun ? events : -1) as Position;

  const chain = (): ChainChecked => {
    const checked = chainCheck.result();
    const isUnbegun = checked.fault === EMPTY;
    if (checked.fault !== null && !isUnbegun) return checked;
    if (broken !== null) {
      return { ...checked, fault: { ...broken, position: lost ?? endOf(checked.events, !isUnbegun) } };
    }
    // Before the end, a stream without a beginning is one that was not read yet.
    return isUnbegun && !isClosed ? { ...checked, fault: null } : checked;
  };

  return {
    marks,
    turns,
    tools,
    undos,
    kept,
    add(record: StreamRecord): void {
      if (record.kind === 'genesis') ({ genesis } = record);
      if (record.kind === 'commit') last = record;
      chainCheck.add(record);
      if (fault === null) fold(record);
    },
    /** All was read. */
    close(): void {
      isClosed = true;
      if (now === null) fault ??= replayer.result().divergence;
    },
    /** The next record cannot be read. */
    breakAt({ message }: SourceFault): void {
      isClosed = true;
      broken = { position: -1, commit: null, what: 'record', message };
      lost = lostFrom(message);
      fault ??= { ...broken, position: lost ?? endOf(now?.state.version ?? 0, now !== null) };
    },
    read: (): number => (last === null ? 0 : versionAfter(last)),
    genesis: () => genesis,
    last: () => last,
    now: () => now,
    fault: () => fault,
    chain,
  };
}

/** The fault of this record, or null. An altered record may hold an event that admission would have refused. */
function addSafely(replayer: ReturnType<typeof newReplayer>, record: StreamRecord): Divergence | null {
  try {
    return replayer.add(record) ? null : replayer.result().divergence;
  } catch (error) {
    const { state, events } = replayer.result();
    const why = error instanceof InvariantError ? error.message : String(error);
    const message = `an event of this commit cannot be folded: ${why}`;
    return { position: state === null ? -1 : events, commit: state === null ? null : events, what: 'event', message };
  }
}

/** The first position that a damaged stream of an engine lost: the engine names it, and returns nothing of the stream. */
function lostFrom(message: string): number | null {
  const [, first] = /^session \S+, positions? (?:from )?(-?\d+)/.exec(message) ?? [];
  return first === undefined ? null : Number(first);
}

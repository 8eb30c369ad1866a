// What the records of a stream show, one by one: whether they agree with themselves and with the fold, and the indexes that the
// answers are found with.
import type { Genesis } from '../../schemas/genesis.ts';
import type { Position } from '../../schemas/ids.ts';
import { type CommitRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { InvariantError } from '../../schemas/rejection.ts';
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
import type { SourceFault } from '../records/record-source.ts';
import { type KeptStates, newKeptStates } from './kept-states.ts';
import { type MarkIndex, foldedMarks, newMarkIndex } from './marks.ts';
import { type TurnIndex, newTurnIndex } from './turn-index.ts';
import { type UndoIndex, newUndoIndex } from './undo-index.ts';

export interface StreamChecks {
  readonly marks: MarkIndex;
  readonly turns: TurnIndex;
  readonly tools: ToolHistory;
  readonly undos: UndoIndex;
  readonly kept: KeptStates;
  add(record: StreamRecord): void;
  /** All was read. */
  close(): void;
  /** The next record cannot be read. */
  breakAt(fault: SourceFault): void;
  /** Events read. */
  read(): number;
  /** The genesis record as it was read; null before it. */
  genesis(): Genesis | null;
  /** The last commit that was read; null before the first. */
  last(): CommitRecord | null;
  /** After the last commit that was folded to its recorded digest; null before the genesis record. */
  now(): ReplayStart | null;
  /** The first fault of the fold; null while there is none. */
  fault(): Divergence | null;
  chain(): ChainChecked;
}

export function newStreamChecks(): StreamChecks {
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

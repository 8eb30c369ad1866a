// What the page asks of its worker, and what the worker tells it: types only, all of them plain data that a structured
// clone copies. The worker holds the token, does all network and reads all records; the page draws what it is told.
//
// A session is addressed by the number of its source, an event by its position (from 0), a state by the number of events
// before it (`at`, as in `--at` of the commands: 0 is the genesis), a turn by run and number, a call by batch and id.
// Everything is bounded: lists come in windows, texts are cut and carry the digest of the blob that has all of it.
//
// What is told of a stream before it was folded again is marked: `checked` counts the events that this browser has folded
// to the recorded digest. Asks that need a state which the fold has not reached yet are answered when it has.
import type { CallAddress, Nothing, OfSource, Refusal, TurnAddress, Window } from './shapes/addresses.ts';
import type { Digest, RunId } from '../schemas/ids.ts';
import type { SessionStatus } from '../schemas/session-head.ts';
import type { DeltaPart } from '../schemas/wire.ts';
import type {
  AlternativeGiven,
  AlternativesKnown,
  CompareWanted,
  Comparison,
  ExportedFile,
  WhatIfSummary,
  WhatIfWindow,
} from './shapes/alternatives.ts';
import type { Act, AnswerGiven, Outcome, UndoFiles, Waiting, WaitingToolset } from './shapes/people.ts';
import type { EventDetail, MarkWanted, MarksAnswer, RowsWindow, TurnsWindow } from './shapes/rows.ts';
import type {
  ConnectTo,
  Connected,
  OpenedSource,
  Progress,
  SessionFacts,
  SessionsPage,
  SessionsWanted,
  SourceGiven,
} from './shapes/sources.ts';
import type { FindPath, PathsFound, ShownDiff, StatePart, StateWanted, ToolsAnswer } from './shapes/state.ts';
import type { BlobText, BlobWanted } from './shapes/texts.ts';
import type { CallDetail, ChangedFile, TurnDetail } from './shapes/turn.ts';
import type { HeadGiven, Verdicts } from './shapes/verdicts.ts';

export type * from './shapes/addresses.ts';
export type * from './shapes/alternatives.ts';
export type * from './shapes/people.ts';
export type * from './shapes/rows.ts';
export type * from './shapes/sources.ts';
export type * from './shapes/state.ts';
export type * from './shapes/texts.ts';
export type * from './shapes/turn.ts';
export type * from './shapes/verdicts.ts';

/** Every ask: what is given with it, and what answers it. */
export interface Asks {
  // The engine.
  /** Connects to the engine that serves the page, or to another one; all asks that need an engine use it from then on. */
  connect: { given: ConnectTo; answer: Connected };
  /** Forgets the token, and ends what is followed. */
  disconnect: { given: Nothing; answer: Nothing };

  // Sessions.
  /** One page of the sessions of the engine. Asked again, it costs the list alone: what waits is read once per version. */
  sessions: { given: SessionsWanted; answer: SessionsPage };
  /** Begins to read and fold a stream. Answered when its beginning was read; `fold` news tell how far the fold is. */
  open: { given: SourceGiven; answer: OpenedSource };
  close: { given: OfSource; answer: Nothing };
  /** The sources that are open, in the order they were opened. */
  opened: { given: Nothing; answer: readonly OpenedSource[] };

  // One session.
  session: { given: OfSource; answer: SessionFacts };
  /** Rows of all events by position. Rows beyond the fold are read from the source and are unchecked. */
  rows: { given: OfSource & Window; answer: RowsWindow };
  /** One event as it is recorded, with the digests of its commit. */
  event: { given: OfSource & { readonly position: number }; answer: EventDetail };
  /** What the bar over all positions shows, in this many equal parts. */
  marks: { given: OfSource & { readonly parts: number }; answer: MarksAnswer };
  /** The next or previous position with a mark of one of these kinds, after or before `from`. */
  seekMark: { given: MarkWanted; answer: { readonly position: number | null } };
  /** Turns with text, calls and results, by their index in the session. */
  turns: { given: OfSource & Window; answer: TurnsWindow };
  /** The turn that contains a position, or the last one before it; null before the first turn. */
  turnAt: { given: OfSource & { readonly position: number }; answer: { readonly index: number | null } };
  turn: { given: OfSource & TurnAddress; answer: TurnDetail };
  call: { given: OfSource & CallAddress; answer: CallDetail };
  /** A file that a call changed, before and after it. */
  changedFile: { given: OfSource & CallAddress & { readonly path: string }; answer: ChangedFile };
  /** Every registered tool at a position; with `against`, beside its row at another position. */
  tools: { given: OfSource & { readonly at: number; readonly against?: number }; answer: ToolsAnswer };

  // The state.
  /** A part of the state and its children; the path is a JSON Pointer, `` for the whole state. */
  state: { given: StateWanted; answer: StatePart };
  /** How two states of the session differ. */
  stateDiff: { given: OfSource & { readonly a: number; readonly b: number }; answer: ShownDiff };
  /** The paths of the state that contain this text, in canonical order. */
  findPath: { given: FindPath; answer: PathsFound };

  // What if.
  /** What may be asked: the presets, and the profiles of the session. */
  alternatives: { given: OfSource; answer: AlternativesKnown };
  /** Decides every turn again. `whatIf` news tell how far it is; a later `whatIf` of the same source ends it. */
  whatIf: { given: OfSource & AlternativeGiven; answer: WhatIfSummary };
  /** The turns that the last `whatIf` decides differently. */
  whatIfTurns: { given: OfSource & Window; answer: WhatIfWindow };
  /** All of them as JSON Lines, the objects of `refold whatif --json`. */
  whatIfExport: { given: OfSource; answer: ExportedFile };

  // Compare.
  /** Where two sources first differ, and how their states differ then and at the end. */
  compare: { given: CompareWanted; answer: Comparison };

  // Proof.
  verdicts: { given: OfSource; answer: Verdicts };
  /** Compares with a chain value, checkpoint or proof that the reader kept; null forgets it. */
  giveHead: { given: OfSource & { readonly head: HeadGiven | null }; answer: Verdicts };
  /** Reads every blob that the stream names and checks its digest; only sources that have blobs can. */
  checkBlobs: { given: OfSource; answer: Verdicts };
  /** A part of a blob as text. */
  blob: { given: BlobWanted; answer: BlobText };
  /** All bytes of a blob, to be saved. */
  blobBytes: { given: OfSource & { readonly ref: Digest }; answer: { readonly bytes: ArrayBuffer } };

  // People.
  /** The questions and custom calls of all sessions of the engine, the one that expires first at the top. */
  waiting: { given: Nothing; answer: Waiting };
  /** The definitions of tools that wait for approval after the last folded event. It reads the whole stream. */
  toolsets: { given: OfSource; answer: readonly WaitingToolset[] };
  /** The files that an undo would put back, without asking for it. */
  undoFiles: { given: OfSource & CallAddress; answer: UndoFiles };
  answer: { given: AnswerGiven; answer: Outcome };
  /** Every other thing that a person does to a session. */
  act: { given: Act; answer: Outcome };
}

export type AskName = keyof Asks;
export type Given<A extends AskName> = Asks[A]['given'];
export type AnswerTo<A extends AskName> = Asks[A]['answer'];

/** An ask as it is posted to the worker. Numbers are given by the page, each once. */
export type AskMessage = {
  [A in AskName]: { readonly number: number; readonly ask: A; readonly given: Given<A> };
}[AskName];

/** The page does not want the answer any more; long work of it ends. There is no answer then. */
export interface Withdrawn {
  readonly withdraw: number;
}

export type ToWorker = AskMessage | Withdrawn;

export type AnswerMessage = {
  [A in AskName]: { readonly number: number; readonly ask: A; readonly answer: AnswerTo<A> };
}[AskName];

export interface RefusalMessage {
  readonly number: number;
  readonly refused: Refusal;
}

export type FromWorker = AnswerMessage | RefusalMessage | NewsMessage;

export interface NewsMessage {
  readonly news: News;
}

/** What the worker tells without being asked. */
export type News =
  /** How far reading and folding are, and what they have shown; at most ten times a second, and once at the end. */
  | ({ readonly kind: 'fold' } & OfSource & Progress & { readonly verdicts: Verdicts })
  /** Verdicts that changed otherwise than by folding. */
  | ({ readonly kind: 'verdicts' } & OfSource & { readonly verdicts: Verdicts })
  /** A followed session has new events, from this position on. */
  | ({ readonly kind: 'grown' } & OfSource & {
        readonly from: number;
        readonly total: number;
        readonly status: SessionStatus;
        /** How many calls wait for a person now. */
        readonly waits: number;
      })
  /** What a model writes, which is never recorded: append, and first forget the turn's earlier ones with `retract`. */
  | ({ readonly kind: 'delta' } & OfSource & {
        readonly run_id: RunId;
        readonly turn: number;
        readonly parts: readonly DeltaPart[];
        readonly retract: boolean;
      })
  | ({ readonly kind: 'whatIf' } & OfSource & { readonly decided: number; readonly total: number })
  /** The link to the engine: `lost` while it is tried again, `refused` when the token is not taken any more. */
  | { readonly kind: 'engine'; readonly link: 'up' | 'lost' | 'refused'; readonly message: string }
  /** A source that cannot be read any further; what was read stays. */
  | ({ readonly kind: 'ended' } & OfSource & { readonly refusal: Refusal });

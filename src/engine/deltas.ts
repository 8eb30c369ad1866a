// What models are writing now, for those who watch: a side channel beside the log. It is kept in memory only, for the turn
// that a session is at, and each reader takes it at its own pace: what it has not taken is merged.
import type { RunId, SessionId } from '../../schemas/ids.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import {
  DELTAS_CHARS_MAX,
  DELTAS_PARTS_MAX,
  DELTAS_SESSIONS_MAX,
  DELTA_FRAME_CHARS_MAX,
} from '../../schemas/limits.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { DeltaFrame, DeltaPart } from '../../schemas/wire.ts';

/** The turn that is written, and the lease it is written under. */
export interface Writing {
  readonly run_id: RunId;
  readonly turn: number;
  readonly epoch: number;
}

export interface DeltaReader {
  /**
   * What was written since the last call, merged, at most DELTA_FRAME_CHARS_MAX characters of it; null when there is nothing
   * new.
   */
  next(): DeltaFrame | null;
  close(): void;
}

export interface Deltas {
  /** Returns how many readers the session has. */
  post(session: SessionId, writing: Writing, parts: readonly DeltaPart[]): number;
  /** The session has adopted events: when they end its turn, what was written of it is gone. */
  update(session: SessionId, state: SessionState, events: readonly IngressEvent[]): void;
  forget(session: SessionId): void;
  read(session: SessionId): DeltaReader;
}

/** One attempt at a turn, with its text from character `start` on. */
interface Attempt extends Writing {
  readonly parts: DeltaPart[];
  start: number;
  end: number;
}

interface Reader {
  /** The attempt it has read of, and up to which character. */
  seen: Attempt | null;
  at: number;
  /** A turn of which it has seen text that does not hold. */
  retract: Writing | null;
}

export function newDeltas(): Deltas {
  /** The session that posted longest ago first. */
  const attempts = new Map<SessionId, Attempt>();
  const readers = new Map<SessionId, Set<Reader>>();

  /** Ends an attempt. What readers have seen of it no longer holds, unless the record takes its place. */
  function end(session: SessionId, isRecorded: boolean): void {
    const ended = attempts.get(session);
    if (ended === undefined) return;
    attempts.delete(session);
    for (const reader of readers.get(session) ?? []) {
      if (reader.seen !== ended) continue;
      reader.seen = null;
      if (!isRecorded) reader.retract = ended;
    }
  }

  return {
    post(session, writing, parts) {
      const known = attempts.get(session);
      if (known !== undefined && !isSame(known, writing)) end(session, false);
      const attempt = attempts.get(session) ?? { ...writing, parts: [], start: 0, end: 0 };
      attempts.delete(session);
      attempts.set(session, attempt);
      for (const part of parts) addPart(attempt, part);
      const [oldest] = attempts.keys();
      if (attempts.size > DELTAS_SESSIONS_MAX && oldest !== undefined) end(oldest, false);
      return readers.get(session)?.size ?? 0;
    },
    update(session, { run }, events) {
      const attempt = attempts.get(session);
      if (attempt === undefined) return;
      const { run_id, turn } = attempt;
      const answers = events.filter(({ kind }) => kind === 'ToolCallsObserved' || kind === 'GenerateFailed');
      const goesOn = run?.run_id === run_id && run.turn === turn && answers.length === 0;
      if (!goesOn) {
        end(
          session,
          answers.some((event) => event.kind === 'ToolCallsObserved' && event.turn === turn && event.run_id === run_id),
        );
      }
    },
    forget: (session) => end(session, false),
    read(session) {
      const reader: Reader = { seen: null, at: 0, retract: null };
      const known = readers.get(session) ?? new Set();
      readers.set(session, known.add(reader));
      return {
        next: () => nextFrame(reader, attempts.get(session)),
        close() {
          known.delete(reader);
          if (known.size === 0 && readers.get(session) === known) readers.delete(session);
        },
      };
    },
  };
}

const isSame = (a: Writing, b: Writing): boolean => a.epoch === b.epoch && a.turn === b.turn && a.run_id === b.run_id;

function addPart(attempt: Attempt, { kind, text }: DeltaPart): void {
  const { parts } = attempt;
  const last = parts.at(-1);
  // Joined a piece at a time, a text would be copied again with every post.
  if (last?.kind === kind && last.text.length < PIECE_CHARS) parts[parts.length - 1] = { kind, text: last.text + text };
  else parts.push({ kind, text });
  attempt.end += text.length;
  const isFull = (): boolean => attempt.end - attempt.start > DELTAS_CHARS_MAX || parts.length > DELTAS_PARTS_MAX;
  while (isFull() && parts.length > 1) {
    attempt.start += (parts.shift() as DeltaPart).text.length;
  }
}

const PIECE_CHARS = 1_024;

function nextFrame(reader: Reader, attempt: Attempt | undefined): DeltaFrame | null {
  const gone = reader.retract;
  reader.retract = null;
  if (attempt !== undefined && reader.seen !== attempt && attempt.end > 0) {
    reader.seen = attempt;
    reader.at = attempt.start;
  }
  let parts: readonly DeltaPart[] = [];
  if (attempt !== undefined && reader.seen === attempt) {
    reader.at = Math.max(attempt.start, reader.at);
    parts = partsFrom(attempt, reader.at);
    for (const { text } of parts) reader.at += text.length;
  }
  // A turn that another attempt writes again is retracted with the first frame of that attempt.
  if (gone !== null && attempt !== undefined && isSameTurn(gone, attempt)) return frameOf(attempt, parts, true);
  if (gone !== null) {
    // What the next turn has begun with waits for the next frame.
    if (attempt !== undefined && reader.seen === attempt) reader.seen = null;
    return frameOf(gone, [], true);
  }
  return attempt === undefined || parts.length === 0 ? null : frameOf(attempt, parts, false);
}

const isSameTurn = (a: Writing, b: Writing): boolean => a.run_id === b.run_id && a.turn === b.turn;

const frameOf = ({ run_id, turn }: Writing, parts: readonly DeltaPart[], retract: boolean): DeltaFrame => ({
  kind: 'delta',
  run_id,
  turn,
  parts,
  ...(retract ? { retract } : {}),
});

/** The parts from this character on, those of one kind joined, up to the size of a frame. */
function partsFrom({ parts, end }: Attempt, from: number): readonly DeltaPart[] {
  // A reader has most often taken all but the last parts.
  let index = parts.length;
  let at = end;
  while (index > 0 && at > from) {
    index -= 1;
    at -= (parts[index] as DeltaPart).text.length;
  }
  const joined: { kind: DeltaPart['kind']; texts: string[] }[] = [];
  let room = DELTA_FRAME_CHARS_MAX;
  for (; index < parts.length && room > 0; index += 1) {
    const { kind, text } = parts[index] as DeltaPart;
    const rest = firstUnits(text.slice(Math.max(0, from - at)), room);
    at += text.length;
    // A pair that does not fit comes whole in the next frame.
    room = rest.isWhole ? room - rest.text.length : 0;
    if (rest.text === '' && !rest.isWhole) break;
    const last = joined.at(-1);
    if (last?.kind === kind) last.texts.push(rest.text);
    else joined.push({ kind, texts: [rest.text] });
  }
  return joined.map(({ kind, texts }) => ({ kind, text: texts.join('') }));
}

/** The beginning of a text, at most so many UTF-16 units; a surrogate pair is not cut. */
function firstUnits(text: string, most: number): { readonly text: string; readonly isWhole: boolean } {
  if (text.length <= most) return { text, isWhole: true };
  const cutsPair = (text.codePointAt(most - 1) ?? 0) > 0xffff;
  return { text: text.slice(0, cutsPair ? most - 1 : most), isWhole: false };
}

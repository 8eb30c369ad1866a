// Laws of undos: one that is owed is answered once, by whoever has it, and as what came of it; and nothing is put back
// twice.
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { type CallId, type EffectId, type Position, type SessionId, brand } from '../../../schemas/ids.ts';
import type { ToolAnswer } from '../bridge-world.ts';
import type { Execution } from '../sim-tools.ts';
import type { Book } from './book.ts';
import type { Judge } from './judge.ts';

type Asked = EventOfKind<'UndoRequested'>;
type Settled = EventOfKind<'UndoSettled'>;

/** Checks a request or its answer as it becomes durable. */
export function checkUndo(book: Book, event: Asked | Settled, judge: Judge): void {
  if (event.kind === 'UndoRequested') checkAsked(book, event, judge);
  else checkSettled(book, event, judge);
}

function checkAsked({ events }: Book, { batch_id, call_id, changes = [] }: Asked, judge: Judge): void {
  const before = events.slice(0, -1);
  const ofCall = (other: Asked | Settled): boolean => other.call_id === call_id && other.batch_id === batch_id;
  const call = before.findLast((event) => event.kind === 'ToolCallSettled' && event.call_id === call_id);
  const recorded = call?.kind === 'ToolCallSettled' && canonicalText(call.changes ?? []) === canonicalText(changes);
  judge.hold(recorded, 'undone once', () => `${call_id}: other files are to be put back than it has changed`);
  const settled = before.filter((event) => event.kind === 'UndoSettled').filter(ofCall);
  judge.hold(!settled.some(({ success }) => success), 'undone once', () => `${call_id} is undone already`);
  const asked = before.filter((event) => event.kind === 'UndoRequested').filter(ofCall);
  judge.hold(asked.length === settled.length, 'undone once', () => `${call_id}: an undo of it waits already`);
}

function checkSettled({ events }: Book, { position, batch_id, call_id }: Settled, judge: Judge): void {
  const asked = events[position];
  const owed = asked?.kind === 'UndoRequested' && asked.call_id === call_id && asked.batch_id === batch_id;
  judge.hold(owed, 'settle once', () => `an answer to an undo of ${call_id}, which nobody asked for at ${position}`);
  const answers = events.filter((event) => event.kind === 'UndoSettled' && event.position === position);
  judge.hold(answers.length === 1, 'settle once', () => `the undo of ${call_id} is answered again`);
}

export interface UndoLaws {
  /** A bridge is about to put back the files of a call; null: of none. Called with what comes of it. */
  restoring(writer: Execution | null, owner: string): (answer: ToolAnswer) => void;
  /** An answer has become durable. */
  settled(session: SessionId, event: Settled): void;
  /** The clock of a bridge was set: from then on it cannot know how old its leases are. */
  clockSet(owner: string): void;
}

interface UndoLawsOptions {
  readonly judge: Judge;
  readonly bookOf: (session: SessionId) => Book | undefined;
  /** Whether this bridge had the effect, and somebody else got it since. */
  readonly hasLost: (owner: string, key: { session_id: SessionId; effect_id: EffectId }) => boolean;
}

export function newUndoLaws({ judge, bookOf, hasLost }: UndoLawsOptions): UndoLaws {
  const putBack = new Set<string>();
  const misled = new Set<string>();

  /** Where the last undo of this call was asked for; -1: nowhere. */
  const askedAt = (session: SessionId, call: CallId): number =>
    bookOf(session)?.events.findLastIndex((event) => event.kind === 'UndoRequested' && event.call_id === call) ?? -1;

  return {
    restoring(writer, owner) {
      const position = writer === null ? -1 : askedAt(writer.session_id, writer.call_id);
      judge.hold(position >= 0, 'durable first', () => `${owner} puts back what nobody on record wants back`);
      if (writer === null || position < 0) return () => undefined;
      const { session_id, call_id } = writer;
      const lost = hasLost(owner, { session_id, effect_id: brand<'EffectId'>(`undo/${position}`) });
      judge.hold(
        !lost || misled.has(owner),
        'leases are fenced',
        () => `${owner} undoes ${call_id}, which somebody else has`,
      );
      return ({ success }) => void (success && putBack.add(nameOf(session_id, position)));
    },
    settled(session, { success, position, call_id }) {
      const honest = !success || putBack.has(nameOf(session, position));
      judge.hold(honest, 'honest reports', () => `${call_id} is reported as undone, and is not`);
    },
    clockSet: (owner) => void misled.add(owner),
  };
}

const nameOf = (session: SessionId, position: number | Position): string => `${session} ${position}`;

// Laws of undos: an owed undo is answered once, by the holder of its lease, with its real result; and no call is undone
// twice.
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { type CallId, type EffectId, type Position, type SessionId, brand } from '../../../schemas/ids.ts';
import type { ToolAnswer } from '../bridge-world.ts';
import type { Execution } from '../sim-tools.ts';
import type { StoredSession } from './stored-session.ts';
import type { Judge } from './judge.ts';

type Asked = EventOfKind<'UndoRequested'>;
type Settled = EventOfKind<'UndoSettled'>;

/** Checks a request or its answer as it becomes durable. */
export function checkUndo(stored: StoredSession, event: Asked | Settled, judge: Judge): void {
  if (event.kind === 'UndoRequested') checkAsked(stored, event, judge);
  else checkSettled(stored, event, judge);
}

function checkAsked({ events }: StoredSession, { batch_id, call_id, changes = [] }: Asked, judge: Judge): void {
  const before = events.slice(0, -1);
  const ofCall = (other: Asked | Settled): boolean => other.call_id === call_id && other.batch_id === batch_id;
  const call = before.findLast((event) => event.kind === 'ToolCallSettled' && event.call_id === call_id);
  const recorded = call?.kind === 'ToolCallSettled' && canonicalText(call.changes ?? []) === canonicalText(changes);
  judge.check(recorded, 'undone once', () => `${call_id}: the undo names other files than the call changed`);
  const settled = before.filter((event) => event.kind === 'UndoSettled').filter(ofCall);
  judge.check(!settled.some(({ success }) => success), 'undone once', () => `${call_id} is undone already`);
  const asked = before.filter((event) => event.kind === 'UndoRequested').filter(ofCall);
  judge.check(asked.length === settled.length, 'undone once', () => `${call_id}: an undo of it is pending already`);
}

function checkSettled({ events }: StoredSession, { position, batch_id, call_id }: Settled, judge: Judge): void {
  const asked = events[position];
  const owed = asked?.kind === 'UndoRequested' && asked.call_id === call_id && asked.batch_id === batch_id;
  judge.check(owed, 'settle once', () => `an answer to an undo of ${call_id}, which was not requested at ${position}`);
  const answers = events.filter((event) => event.kind === 'UndoSettled' && event.position === position);
  judge.check(answers.length === 1, 'settle once', () => `the undo of ${call_id} is answered again`);
}

export interface UndoLaws {
  /** A bridge is about to restore the files of a call; null: of none. Returns a callback for the result. */
  restoring(writer: Execution | null, owner: string): (answer: ToolAnswer) => void;
  /** The result of an undo has become durable. */
  settled(session: SessionId, event: Settled): void;
  /** The clock of a bridge was set: it can no longer know the age of its leases. */
  clockSet(owner: string): void;
}

interface UndoLawsOptions {
  readonly judge: Judge;
  readonly storedOf: (session: SessionId) => StoredSession | undefined;
  /** Whether this bridge held the effect and another one has it now. */
  readonly hasLost: (owner: string, key: { session_id: SessionId; effect_id: EffectId }) => boolean;
}

export function newUndoLaws({ judge, storedOf, hasLost }: UndoLawsOptions): UndoLaws {
  const restored = new Set<string>();
  const clockChanged = new Set<string>();

  /** The position of the last request to undo this call; -1: none. */
  const askedAt = (session: SessionId, call: CallId): number =>
    storedOf(session)?.events.findLastIndex((event) => event.kind === 'UndoRequested' && event.call_id === call) ?? -1;

  return {
    restoring(writer, owner) {
      const position = writer === null ? -1 : askedAt(writer.session_id, writer.call_id);
      judge.check(position >= 0, 'durable first', () => `${owner} restores files without a recorded request`);
      if (writer === null || position < 0) return () => undefined;
      const { session_id, call_id } = writer;
      const lost = hasLost(owner, { session_id, effect_id: brand<'EffectId'>(`undo/${position}`) });
      judge.check(
        !lost || clockChanged.has(owner),
        'leases are fenced',
        () => `${owner} undoes ${call_id}, whose lease another bridge holds`,
      );
      return ({ success }) => void (success && restored.add(nameOf(session_id, position)));
    },
    settled(session, { success, position, call_id }) {
      const honest = !success || restored.has(nameOf(session, position));
      judge.check(honest, 'honest reports', () => `${call_id} is reported as undone but is not`);
    },
    clockSet: (owner) => void clockChanged.add(owner),
  };
}

const nameOf = (session: SessionId, position: number | Position): string => `${session} ${position}`;

// Folds the records of one stream as they come, and refuses one that does not fold as recorded.
import type { Digest, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { FoldedEvent } from '../../core/folded-event.ts';
import { type Divergence, type ReplayStart, newReplayer } from '../../core/replay.ts';
import { type Steps, runSteps } from '../../core/steps.ts';
import { StreamDiverged } from './stream-diverged.ts';

/** A stream up to one of its records, with every digest compared. */
export interface FoldedTo {
  readonly state: SessionState;
  readonly stateDigest: Digest;
  /** The events of the record, in order; none for the genesis record. */
  readonly events: readonly FoldedEvent[];
}

export interface CheckedFold {
  /** Null for the tool package, which has no state yet. Throws {@link StreamDiverged}. */
  add(record: StreamRecord): FoldedTo | null;
  /** The same in steps, one for each event: some events take long to fold. */
  addInSteps(record: StreamRecord): Steps<FoldedTo | null>;
}

/** Keeps one state, however long the stream is. It begins where it is told, or with the first record. */
export function newCheckedFold(session: SessionId, from?: ReplayStart): CheckedFold {
  const events: FoldedEvent[] = [];
  const replayer = newReplayer((folded) => events.push(folded), from === undefined ? {} : { from });
  function* addInSteps(record: StreamRecord): Steps<FoldedTo | null> {
    try {
      yield* replayer.addInSteps(record);
    } catch (error) {
      // A tampered record may hold an event that admission would have refused.
      if (!(error instanceof InvariantError)) throw error;
      throw new StreamDiverged(session, unfoldable(replayer.result().events, error.message));
    }
    const { state, stateDigest, divergence } = replayer.result();
    if (record.kind === 'package') return null;
    if (divergence !== null) throw new StreamDiverged(session, divergence);
    return state === null || stateDigest === null ? null : { state, stateDigest, events: events.splice(0) };
  }
  return { add: (record) => runSteps(addInSteps(record)), addInSteps };
}

/** Gives way to other work: null when it need not. */
export type GiveWay = () => Promise<void> | null;

/** The result of all steps; a promise of it only when other work comes between two of them. */
export function givingWay<T>(steps: Steps<T>, pause: GiveWay = () => null): T | Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const rest = pause();
    if (rest !== null) return rest.then(() => givingWay(steps, pause));
  }
}

const unfoldable = (position: number, why: string): Divergence => ({
  position,
  commit: position,
  what: 'event',
  message: `the event cannot be folded: ${why}`,
});

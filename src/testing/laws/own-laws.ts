// Laws that a test adds, checked on every event as it becomes durable, beside the laws of the engine.
import type { SessionId } from '../../../schemas/ids.ts';
import type { FoldedEvent } from './stored-session.ts';
import type { Judge } from './judge.ts';

/** A durable event of a session, with the states before and after it. All of it is frozen. */
export interface DurableEvent extends FoldedEvent {
  readonly session_id: SessionId;
}

/** Returns what is wrong, for people to read, or null. A law that throws counts as broken. */
export type OwnLaw = (folded: DurableEvent) => string | null;

/** The laws that a test adds, by name. */
export type OwnLaws = Readonly<Record<string, OwnLaw>>;

export function checkOwn(laws: OwnLaws, folded: DurableEvent, judge: Judge): void {
  for (const [name, law] of Object.entries(laws)) {
    const fault = faultOf(law, folded);
    if (fault !== null) judge.failOwn(name, `${folded.session_id}, event ${folded.before.version}: ${fault}`);
  }
}

function faultOf(law: OwnLaw, folded: DurableEvent): string | null {
  try {
    return law(folded);
  } catch (error) {
    return String(error);
  }
}

// Laws of whoever simulates, held against every event as it becomes durable, beside those of the design.
import type { SessionId } from '../../../schemas/ids.ts';
import type { Taken } from './book.ts';
import type { Judge } from './judge.ts';

/** An event that has become durable, in its session, between the states before and after it. All of it is frozen. */
export interface DurableEvent extends Taken {
  readonly session_id: SessionId;
}

/** What is wrong, for people to read; null: nothing. One that throws is broken. */
export type OwnLaw = (taken: DurableEvent) => string | null;

/** Laws of one's own, by name. */
export type OwnLaws = Readonly<Record<string, OwnLaw>>;

export function checkOwn(laws: OwnLaws, taken: DurableEvent, judge: Judge): void {
  for (const [name, law] of Object.entries(laws)) {
    const fault = faultOf(law, taken);
    if (fault !== null) judge.failOwn(name, `${taken.session_id}, event ${taken.before.version}: ${fault}`);
  }
}

function faultOf(law: OwnLaw, taken: DurableEvent): string | null {
  try {
    return law(taken);
  } catch (error) {
    return String(error);
  }
}

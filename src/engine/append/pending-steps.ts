// Steps that are not durable yet: the state and chain they lead to, and the records to append.
import { digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Digest } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { nextChain } from '../../core/chain.ts';
import type { Step } from '../../core/step.ts';
import type { JournalRecord } from '../../journal/journal.ts';

export interface PendingSteps {
  state: SessionState;
  chain: Digest;
  readonly events: IngressEvent[];
  readonly records: JournalRecord[];
  /** Texts of the transcript pages that these steps seal. */
  readonly sealed: string[];
}

export const noSteps = (state: SessionState, chain: Digest): PendingSteps => ({
  state,
  chain,
  events: [],
  records: [],
  sealed: [],
});

/** Adds the step of one event; `text` is the event's canonical text. */
export function addStep(
  to: PendingSteps,
  event: IngressEvent,
  text: string,
  { state, stateDigest, sealed }: Step,
): void {
  to.state = state;
  to.chain = nextChain(to.chain, digestText(text), stateDigest);
  to.events.push(event);
  to.records.push({ event: text, event_id: event.event_id, state_digest: stateDigest, chain: to.chain });
  if (sealed !== null) to.sealed.push(sealed.text);
}

/** Adds steps that start from the state in `to`. */
export function addSteps(to: PendingSteps, next: PendingSteps): void {
  to.state = next.state;
  to.chain = next.chain;
  to.events.push(...next.events);
  to.records.push(...next.records);
  to.sealed.push(...next.sealed);
}

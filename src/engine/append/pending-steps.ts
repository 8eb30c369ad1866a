// Steps that are not durable yet: the state they lead to, and the events to append. What is stepped together becomes one
// commit (docs/design.md, "Bytes and digests").
import { digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Digest, Position } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SealedPage } from '../../../reducers/transcript.ts';
import { nextChain } from '../../core/chain.ts';
import { stateDigest } from '../../core/state-digest.ts';
import type { Folded } from '../../core/step.ts';
import type { JournalCommit, JournalEvent } from '../../journal/journal.ts';

export interface PendingSteps {
  state: SessionState;
  readonly events: IngressEvent[];
  /** The events as they are stored. */
  readonly stored: JournalEvent[];
  /** The transcript pages that these steps seal. */
  readonly sealed: SealedPage[];
}

export const noSteps = (state: SessionState): PendingSteps => ({ state, events: [], stored: [], sealed: [] });

/** Adds the fold of one event; `text` is the event's canonical text. */
export function addStep(to: PendingSteps, event: IngressEvent, text: string, { state, sealed }: Folded): void {
  to.state = state;
  to.events.push(event);
  to.stored.push({ text, event_id: event.event_id });
  if (sealed !== null) to.sealed.push(sealed);
}

/** Adds steps that start from the state in `to`. */
export function addSteps(to: PendingSteps, next: PendingSteps): void {
  to.state = next.state;
  to.events.push(...next.events);
  to.stored.push(...next.stored);
  to.sealed.push(...next.sealed);
}

/** The commit of these steps after a stream that ends with the chain value `before`. */
export function commitOf({ state, stored }: PendingSteps, before: Digest): JournalCommit {
  const position = (state.version - stored.length) as Position;
  const state_digest = stateDigest(state);
  const chain = nextChain(
    before,
    stored.map(({ text }) => digestText(text)),
    state_digest,
  );
  return { position, events: stored, state_digest, chain };
}

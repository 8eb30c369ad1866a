// Event ids that are reserved: one that begins like an effect belongs to the reports on that effect. Bridges derive the ids of
// their reports from effects, so that a repeated report is known. If another event took such an id, the true report would be
// refused.
import { digestText } from '../../../schemas/canonical.ts';
import type { Ingress } from '../../../schemas/event.ts';
import type { EffectId } from '../../../schemas/ids.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';

/** As `effects(state)` names effects, and their digests. */
const EFFECT_SHAPED = /^(?:batch-\d+|run-\d+|undo|wake|sha256:[0-9a-f]{64})\//;

/** The ids of runs that were requested with a key. */
const RUN_SHAPED = /^run\//;

/** `invalid_shape` when the id of an event is reserved for another; `reported`: the effects that its sender may report on. */
export function refuseEventId({ kind, event_id }: Ingress, reported: readonly EffectId[]): Rejection | null {
  if (event_id === undefined) return null;
  const ofRun = RUN_SHAPED.test(event_id) && kind !== 'RunRequested';
  const ofEffect =
    EFFECT_SHAPED.test(event_id) &&
    !reported.some((effect) => event_id.startsWith(`${effect}/`) || event_id.startsWith(`${digestText(effect)}/`));
  if (!ofRun && !ofEffect) return null;
  const owner = ofRun ? 'requests of runs' : 'reports on the effect it names, by the holder of its lease';
  const message = `the event id ${event_id} is reserved for ${owner}; choose another, such as a UUID`;
  return reject('invalid_shape', '/event_id', message);
}

// Requests that end work. In their session they overtake requests that wait for a check on another thread: a slow
// check of a call must not delay its end.
import type { IngressKind } from '../../../schemas/event.ts';
import type { Submit } from '../../../schemas/wire.ts';

const BRAKES: ReadonlySet<IngressKind> = new Set<IngressKind>(['user.interrupt', 'RunCancelled']);

export const isBrake = ({ events }: Submit): boolean => events.every(({ kind }) => BRAKES.has(kind));

/** Thrown out of the stepping of a group that is overtaken: nothing of it is durable, and it is stepped again later. */
export class Overtaken extends Error {
  constructor() {
    super('a request that ends work overtakes this one');
  }
}

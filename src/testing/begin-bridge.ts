// A bridge begins, whatever it is: one that throws at once has given up, one that returns no promise has come to its end.
import type { BridgeWorld, SimulatedBridge } from './bridge-world.ts';

/** What a bridge threw. */
export interface GivenUp {
  readonly error: unknown;
}

/** `ended` is called once: with null when the bridge has come to its own end. */
export function beginBridge(
  bridge: SimulatedBridge,
  world: BridgeWorld,
  ended: (givenUp: GivenUp | null) => void,
): void {
  const gaveUp = (error: unknown): void => ended({ error });
  try {
    Promise.resolve(bridge(world)).then(() => ended(null), gaveUp);
  } catch (error) {
    gaveUp(error);
  }
}

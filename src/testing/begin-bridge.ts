// Starts a simulated bridge of any shape: one that throws at once has failed, one that returns no promise has ended.
import type { BridgeWorld, SimulatedBridge } from './bridge-world.ts';

/** What a bridge threw. */
export interface BridgeFailure {
  readonly error: unknown;
}

/** `ended` is called once: with null when the bridge ended without an error. */
export function beginBridge(
  bridge: SimulatedBridge,
  world: BridgeWorld,
  ended: (failure: BridgeFailure | null) => void,
): void {
  const failed = (error: unknown): void => ended({ error });
  try {
    Promise.resolve(bridge(world)).then(() => ended(null), failed);
  } catch (error) {
    failed(error);
  }
}

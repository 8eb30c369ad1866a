// Limits of the simulator (docs/limits.md).
/** Most timers that fire in one simulation. With more the simulation fails, because it does not terminate. */
export const SIM_TIMERS_MAX = 50_000;
/** Simulated time that a simulation gets to finish after its last fault, in milliseconds. Then it fails. */
export const SIM_PATIENCE_MS = 900_000;
/** Most scenarios tried to shrink a failing one. The smallest that still fails is reported. */
export const SIM_SHRINKS_MAX = 300;

// The delay before a failed request is sent again.

/** Doubles with each attempt (0, 1, …) up to `maxMs`; returns between half of that and all of it, in milliseconds. */
export function backoffMs(
  attempt: number,
  random: () => number,
  bounds: { readonly baseMs: number; readonly maxMs: number },
): number {
  const full = Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.min(attempt, 30));
  return Math.round(full * (0.5 + random() / 2));
}

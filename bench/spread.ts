// Several runs of one measurement as a median with its extremes: on a shared machine a mean would hide the noise.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
}

/** Throws when there are no runs. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) throw new RangeError('no run was measured');
  return { median: quantile(sorted, 0.5), min, max, runs: values.length };
}

/** The value below which this share of the values lies, interpolated. */
export const percentile = (values: readonly number[], share: number): number =>
  quantile(
    [...values].sort((a, b) => a - b),
    share,
  );

/** Divides run by run, because both values of one run were measured under the same conditions. */
export const ratios = (measured: readonly number[], limit: readonly number[]): readonly number[] =>
  measured.map((value, run) => value / (limit[run] ?? NaN));

function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? NaN;
  const above = sorted[Math.ceil(at)] ?? NaN;
  return below + (above - below) * (at - Math.floor(at));
}

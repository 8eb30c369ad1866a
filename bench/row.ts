// One line of the result: what was measured, the limit it is compared with, and whether it reaches its target.
import { type Spread, ratios, spreadOf } from './spread.ts';

/** The target of a figure: a ratio to the limit of the same run, or a value when there is no limit. */
export interface Reach {
  readonly of: 'ratio' | 'measured';
  readonly at: 'least' | 'most';
  readonly value: number;
}

export interface Limit {
  /** The name of the limit. */
  readonly what: string;
  readonly spread: Spread;
}

export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly measured: Spread;
  readonly limit: Limit | null;
  /** Measured value divided by the limit, for each run. */
  readonly ratio: Spread | null;
  readonly reach: Reach | null;
  /** Null when the row has no target. */
  readonly ok: boolean | null;
}

export interface Runs {
  readonly what: string;
  readonly unit: string;
  /** One value for each run. */
  readonly values: readonly number[];
  /** One value for each of the same runs, in the same unit. */
  readonly limit?: { readonly what: string; readonly values: readonly number[] };
  readonly reach?: Reach;
}

export function rowOf({ what, unit, values, limit, reach }: Runs): Row {
  const measured = spreadOf(values);
  const ratio = limit === undefined ? null : spreadOf(ratios(values, limit.values));
  return {
    what,
    unit,
    measured,
    limit: limit === undefined ? null : { what: limit.what, spread: spreadOf(limit.values) },
    ratio,
    reach: reach ?? null,
    ok: reach === undefined ? null : isReached(reach, reach.of === 'ratio' ? ratio : measured),
  };
}

function isReached({ at, value }: Reach, judged: Spread | null): boolean {
  if (judged === null) return false;
  return at === 'least' ? judged.median >= value : judged.median <= value;
}

export const ratioAtLeast = (value: number): Reach => ({ of: 'ratio', at: 'least', value });
export const ratioAtMost = (value: number): Reach => ({ of: 'ratio', at: 'most', value });
export const atLeast = (value: number): Reach => ({ of: 'measured', at: 'least', value });
export const atMost = (value: number): Reach => ({ of: 'measured', at: 'most', value });

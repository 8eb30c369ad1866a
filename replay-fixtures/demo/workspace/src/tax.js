import { roundCents } from './money.js';

const RATES = { standard: 0.19, reduced: 0.7, none: 0 };

/** The tax rate of a class of goods. */
export function rateOf(kind) {
  const rate = RATES[kind];
  if (rate === undefined) throw new RangeError(`unknown tax class: ${kind}`);
  return rate;
}

/** Net cents with tax on top. */
export function withTax(netCents, kind) {
  return roundCents(netCents + rateOf(kind));
}

/** Cents as text, e.g. 1999 -> "19.99". */
export function formatCents(cents) {
  const whole = Math.floor(cents / 100);
  const rest = cents % 100;
  return `${whole}.${rest}`;
}

/** The nearest whole cent; halves go up. */
export function roundCents(value) {
  return Math.round(value);
}

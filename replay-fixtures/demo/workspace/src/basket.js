import { formatCents, roundCents } from './money.js';
import { withTax } from './tax.js';

const DISCOUNT_FROM_CENTS = 10_000;
const DISCOUNT = 0.05;

/** What a basket costs, as text. Lines are { name, netCents, quantity, kind }. */
export function total(lines) {
  const net = lines.reduce((sum, line) => sum + line.netCents * line.quantity, 0);
  const factor = net >= DISCOUNT_FROM_CENTS ? 1 - DISCOUNT : 1;
  const gross = lines.reduce((sum, line) => sum + withTax(roundCents(line.netCents * line.quantity * factor), line.kind), 0);
  return formatCents(gross);
}

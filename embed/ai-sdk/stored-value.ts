// Values of the SDK as JSON: bytes and addresses are marked, absent fields left out, so that they are read back as they were.
import type { Json } from '../../schemas/index.ts';

const BYTES = '$base64';
const ADDRESS = '$url';

/** A function or a symbol counts as absent. */
export function storedValue(value: unknown): Json {
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') };
  if (value instanceof URL) return { [ADDRESS]: value.href };
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(storedValue);
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => isKept(field));
    return Object.fromEntries(fields.map(([key, field]) => [key, storedValue(field)]));
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  return isKept(value) ? (value as Json) : null;
}

const isKept = (value: unknown): boolean => !['undefined', 'function', 'symbol', 'bigint'].includes(typeof value);

/** The value that was stored. */
export function valueOfStored(stored: Json): unknown {
  if (Array.isArray(stored)) return stored.map((item) => valueOfStored(item as Json));
  if (typeof stored !== 'object' || stored === null) return stored;
  const [first, ...more] = Object.entries(stored);
  if (first !== undefined && more.length === 0) {
    const [key, value] = first;
    if (key === BYTES && typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'));
    if (key === ADDRESS && typeof value === 'string') return new URL(value);
  }
  return Object.fromEntries(Object.entries(stored).map(([key, field]) => [key, valueOfStored(field)]));
}

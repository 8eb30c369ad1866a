// The state digest as its definition reads, without a cache and without the product's encoder: the SHA-256 of the
// canonical JSON in which each container directly inside is replaced by a list of one string, its own digest.
import { createHash } from 'node:crypto';
import type { Json } from '../../schemas/index.ts';

/** RFC 8785 for values of the value domain. */
export function referenceCanonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => referenceCanonical(item)).join(',')}]`;
  const entries = Object.entries(value as Readonly<Record<string, Json>>).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${referenceCanonical(item)}`).join(',')}}`;
}

export function referenceStateDigest(value: Json): string {
  const reference = (item: Json): Json =>
    typeof item === 'object' && item !== null ? [referenceStateDigest(item)] : item;
  const shallow = Array.isArray(value)
    ? value.map((item: Json) => reference(item))
    : Object.fromEntries(
        Object.entries(value as Readonly<Record<string, Json>>).map(([key, item]) => [key, reference(item)]),
      );
  return `sha256:${createHash('sha256').update(referenceCanonical(shallow)).digest('hex')}`;
}

// A cached Merkle digest as plainly as it can be written, of every container by itself: what the first form of the
// engine's state digest is. The limit of what a digest of every state can cost beside a fold.
import { sha256Hex } from '#sha256';

/** One run's cache: what another contestant digested must not be known here. */
export type Known = WeakMap<object, string>;

export function bareMerkle(value: object, known: Known): string {
  const cached = known.get(value);
  if (cached !== undefined) return cached;
  const text = Array.isArray(value) ? textOfArray(value, known) : textOfObject(value, known);
  const made = `sha256:${sha256Hex(text)}`;
  known.set(value, made);
  return made;
}

function textOfArray(items: readonly unknown[], known: Known): string {
  let text = '[';
  for (const item of items) text += text === '[' ? reference(item, known) : `,${reference(item, known)}`;
  return `${text}]`;
}

function textOfObject(value: object, known: Known): string {
  let text = '{';
  for (const key of Object.keys(value).sort()) {
    const item = `"${key}":${reference((value as Readonly<Record<string, unknown>>)[key], known)}`;
    text += text === '{' ? item : `,${item}`;
  }
  return `${text}}`;
}

// No key of a state needs escaping; the bench holds the digests against the engine's.
const reference = (item: unknown, known: Known): string =>
  typeof item === 'object' && item !== null ? `["${bareMerkle(item, known)}"]` : JSON.stringify(item);

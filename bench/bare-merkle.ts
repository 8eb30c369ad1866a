// A plain cached Merkle digest of every container: the lower limit for the cost of digesting every state of a fold.
import { sha256Hex } from '#sha256';

/** The cache of one run, separate for each contestant. */
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

// No key of a state needs escaping; the bench compares the digests with those of the engine.
const reference = (item: unknown, known: Known): string =>
  typeof item === 'object' && item !== null ? `["${bareMerkle(item, known)}"]` : JSON.stringify(item);

// JSON values that nobody can change any more, known as such because they were made here. Large things that many
// requests name, a tool package above all, are passed on by reference: not copied, and not checked again.
import { assertJson, canonicalText } from './canonical.ts';
import { type Json, freezeJson } from './json.ts';

/** What is known of a sealed value. */
export interface Seal {
  /** Characters of its canonical text. */
  readonly chars: number;
  /** How deep it is nested: 1 for an object or array of plain values. */
  readonly depth: number;
}

const seals = new WeakMap<object, Seal>();

/** A frozen copy in canonical order; throws a {@link RangeError} that names the path when it is no JSON value. */
export function sealJson<T extends object>(value: T): T {
  const text = canonicalText(assertJson(value));
  const copy = freezeJson(JSON.parse(text) as Json & T);
  seals.set(copy, { chars: text.length, depth: depthOf(copy) });
  return copy;
}

/** Undefined for whatever {@link sealJson} did not make. */
export const sealOf = (value: object): Seal | undefined => seals.get(value);

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const part of Object.values(value as Readonly<Record<string, Json>>)) {
    deepest = Math.max(deepest, depthOf(part));
  }
  return deepest + 1;
}

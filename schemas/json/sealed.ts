// Sealed values: frozen JSON values made here, which later layers recognise. Large values that many requests contain, such
// as a tool package, are then passed on by reference, neither copied nor checked again.
import { assertJson, canonicalText } from '../canonical.ts';
import { countMarks } from './json-scan.ts';
import { type Json, freezeJson } from '../json.ts';

/** The recorded measures of a sealed value. */
export interface Seal {
  /** Characters of its canonical text. */
  readonly chars: number;
  /** Commas and opening brackets of this text. */
  readonly marks: number;
  /** Its nesting depth: 1 for an object or array of plain values. */
  readonly depth: number;
}

const seals = new WeakMap<object, Seal>();

/** A frozen copy in canonical order; throws a {@link RangeError} with the path when it is not a JSON value. */
export function sealJson<T extends object>(value: T): T {
  const text = canonicalText(assertJson(value));
  const copy = freezeJson(JSON.parse(text) as Json & T);
  seals.set(copy, { chars: text.length, marks: countMarks(text), depth: depthOf(copy) });
  return copy;
}

/** The seal of a value; undefined when {@link sealJson} did not make it. */
export const sealOf = (value: object): Seal | undefined => seals.get(value);

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const part of Object.values(value as Readonly<Record<string, Json>>)) {
    deepest = Math.max(deepest, depthOf(part));
  }
  return deepest + 1;
}

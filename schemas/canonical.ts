// Canonical JSON (RFC 8785, JCS) and SHA-256 digests (docs/design.md, "Bytes and digests"). Every recorded digest is
// computed here. Inside the value domain the stable stringifier is exactly JCS: keys sorted by UTF-16 code unit, numbers and
// strings in ECMAScript's form. Outside the domain unequal values would share bytes, so such values are refused first.
import { isLeft } from 'fp-ts/lib/Either.js';
import stringify from 'fast-json-stable-stringify';
import { sha256Hex } from '#sha256';
import type { Digest } from './ids.ts';
import { type Json, type JsonObject, checkJson } from './json.ts';

const utf8 = new TextEncoder();

/** RFC 8785 text of a value that is known to be in the value domain. */
export function canonicalText(value: Json): string {
  if (isInOrder(value)) return JSON.stringify(value);
  // Objects that clients send are mostly out of order at the top level only.
  return isObject(value) ? textOfFields(value) : stringify(value);
}

function textOfFields(value: JsonObject): string {
  let text = '{';
  for (const key of sortedKeys(value)) {
    const item = value[key] as Json;
    const comma = text === '{' ? '' : ',';
    text += `${comma}${JSON.stringify(key)}:${isInOrder(item) ? JSON.stringify(item) : stringify(item)}`;
  }
  return `${text}}`;
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The keys of an object in canonical order: by UTF-16 code unit, as JavaScript compares strings. */
export const sortedKeys = (value: JsonObject): readonly string[] => sorted(Object.keys(value));

function sorted(keys: string[]): readonly string[] {
  if (keys.length > FEW_KEYS) return keys.sort();
  // Insertion sort: a third of the work of `sort` for few keys that are mostly in order, which is the common case.
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string;
    let place = index;
    for (; place > 0 && (keys[place - 1] as string) > key; place -= 1) keys[place] = keys[place - 1] as string;
    keys[place] = key;
  }
  return keys;
}

const FEW_KEYS = 32;

/**
 * True when every object in the value lists its keys in canonical order, as objects read from canonical text or built in
 * order do. JSON.stringify then writes the same text, several times faster.
 */
function isInOrder(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) if (!isInOrder(value[index] as Json)) return false;
    return true;
  }
  let before = '';
  const fields: JsonObject = value as JsonObject;
  // `for in` allocates no list of keys. An inherited key can only turn the answer to false.
  for (const key in fields) {
    if (key < before || !isInOrder(fields[key] as Json)) return false;
    before = key;
  }
  return true;
}

/** The same value with its keys in canonical order, so that it is encoded fast later. */
export function inCanonicalOrder<T extends Json>(value: T): T {
  if (isInOrder(value)) return value;
  if (Array.isArray(value)) return value.map((item: Json) => inCanonicalOrder(item)) as readonly Json[] as T;
  const ordered: Record<string, Json> = {};
  for (const key of sortedKeys(value as JsonObject))
    ordered[key] = inCanonicalOrder((value as JsonObject)[key] as Json);
  return ordered as T;
}

/** The fields of two objects in canonical order; of a field that both have, the second one's. An undefined one is left out. */
export function mergedInOrder(given: JsonObject, over: Readonly<Record<string, Json | undefined>>): JsonObject {
  const keys = Object.keys(given);
  for (const key of Object.keys(over)) if (!Object.hasOwn(given, key)) keys.push(key);
  const merged: Record<string, Json> = {};
  for (const key of sorted(keys)) {
    const item = Object.hasOwn(over, key) ? over[key] : given[key];
    if (item !== undefined) merged[key] = inCanonicalOrder(item);
  }
  return merged;
}

/** RFC 8785 bytes (UTF-8) of any value; throws a {@link RangeError} with the path when it is not a JSON value. */
export const canonicalBytes = (value: unknown): Uint8Array => utf8.encode(canonicalText(assertJson(value)));

/** `sha256:` and 64 hex digits over the canonical bytes of any value; throws as {@link canonicalBytes} does. */
export const digest = (value: unknown): Digest => digestText(canonicalText(assertJson(value)));

/** Digest of a value that is known to be in the value domain. */
export const digestJson = (value: Json): Digest => digestText(canonicalText(value));

/** Digest of text (as UTF-8) or of bytes, which are hashed unchanged. */
export const digestText = (data: string | Uint8Array): Digest => `sha256:${sha256Hex(data)}` as Digest;

/** The value when it is in the value domain; otherwise throws a {@link RangeError} with the path. */
export function assertJson(value: unknown): Json {
  const checked = checkJson(value);
  if (isLeft(checked)) throw new RangeError(`not a JSON value at "${checked.left.path}": ${checked.left.message}`);
  return checked.right;
}

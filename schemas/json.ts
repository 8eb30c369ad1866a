// The value domain (docs/design.md, "Bytes and digests"): the JSON values that may be stored, hashed or sent, and the
// readers that refuse all others. Two values of the domain are equal exactly when their canonical bytes are equal.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { BODY_BYTES_MAX, JSON_DEPTH_MAX, JSON_NODES_MAX } from './limits.ts';
import { pointerSegment, type Rejection, type RejectionCode, reject } from './rejection.ts';
import { countKeys, scanJson, tooDeep, tooManyValues } from './json/json-scan.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * Parses JSON text into the value domain. Refuses, with the path of the fault: text that is too long, too deep or has too
 * many values (before it is parsed), malformed text, duplicate keys, `__proto__`, lone surrogates and -0. `marksMax`: most
 * commas and opening brackets, for text of strangers, because values cost more than characters.
 */
export function parseJson(
  text: string,
  bytesMax: number = BODY_BYTES_MAX,
  marksMax = Infinity,
): Either<Rejection, Json> {
  if (text.length > bytesMax) {
    return left(reject('too_large', '', `the JSON text has ${text.length} characters; send at most ${bytesMax}`));
  }
  const keys = countKeys(text, marksMax);
  if (keys === null) {
    const scanned = scanJson(text, marksMax);
    if (scanned !== null) return left(scanned);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of JSON.parse differs between versions of JavaScript engines, so it is not included.
    return left(
      scanJson(text) ?? reject('malformed_json', '', 'the text is not JSON; send one JSON document in UTF-8'),
    );
  }
  if (keys !== null && isSound(value, keys)) return right(value as Json);
  const scanned = scanJson(text);
  return scanned === null ? checkJson(value) : left(scanned);
}

/** Whether a parsed value is in the value domain and has this many keys. The nesting was checked before parsing. */
function isSound(root: unknown, keys: number): boolean {
  let nodes = 0;
  let found = 0;
  function visit(value: unknown): boolean {
    nodes += 1;
    if (typeof value === 'string') return value.isWellFormed();
    if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
    if (typeof value !== 'object' || value === null) return true;
    if (Array.isArray(value)) {
      for (const item of value) if (!visit(item)) return false;
      return true;
    }
    for (const key of Object.keys(value)) {
      found += 1;
      if (key === '__proto__' || !key.isWellFormed()) return false;
      if (!visit((value as Readonly<Record<string, unknown>>)[key])) return false;
    }
    return true;
  }
  return visit(root) && found === keys && nodes <= JSON_NODES_MAX;
}

/** The given value when it is in the value domain, else a rejection with the path (RFC 6901) of the fault. */
export function checkJson(value: unknown): Either<Rejection, Json> {
  const fault = findFault(value);
  return fault === null ? right(value as Json) : left(reject(fault.code, fault.path, fault.message));
}

/** True when the value is in the value domain. */
export function isJson(value: unknown): value is Json {
  const seen = { nodes: 0 };
  return isInDomain(value, 0, seen) && seen.nodes <= JSON_NODES_MAX;
}

// True exactly when `findFault` finds no fault. It runs for every argument and result, so it allocates nothing.
function isInDomain(value: unknown, depth: number, seen: { nodes: number }): boolean {
  seen.nodes += 1;
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return numberFault(value) === null;
  if (value === null || typeof value === 'boolean') return true;
  if (typeof value !== 'object' || depth >= JSON_DEPTH_MAX || seen.nodes > JSON_NODES_MAX) return false;
  return Array.isArray(value) ? isListInDomain(value, depth, seen) : isObjectInDomain(value, depth, seen);
}

function isListInDomain(value: readonly unknown[], depth: number, seen: { nodes: number }): boolean {
  if (!isPlainList(value)) return false;
  for (let index = 0; index < value.length; index += 1) if (!isInDomain(value[index], depth + 1, seen)) return false;
  return true;
}

function isObjectInDomain(value: object, depth: number, seen: { nodes: number }): boolean {
  if (!isPlainObject(value)) return false;
  const keys = Object.keys(value);
  if (hasHiddenFields(value, keys)) return false;
  for (const key of keys) {
    if (key === '__proto__' || !key.isWellFormed() || !isInDomain(value[key], depth + 1, seen)) return false;
  }
  return true;
}

/** True for a plain object with any fields; false for arrays and null. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** True for an array that is nothing but its items: no holes, no fields of its own, of no class of its own. */
export const isPlainList = (value: readonly unknown[]): boolean =>
  // Its keys, and `length`.
  Reflect.ownKeys(value).length === value.length + 1 &&
  Object.keys(value).length === value.length &&
  Object.getPrototypeOf(value) === Array.prototype;

/** Whether an object has fields that JSON does not show: with symbols as keys, or not enumerable. */
export const hasHiddenFields = (value: object, keys: readonly string[] = Object.keys(value)): boolean =>
  // Three times as fast as the same question to Reflect.ownKeys, and asked for every object that is received.
  Object.getOwnPropertySymbols(value).length > 0 || Object.getOwnPropertyNames(value).length !== keys.length;

/**
 * Freezes a JSON value deeply. A value that is already frozen is assumed to be frozen deeply, so that freezing a new
 * state costs only its new parts.
 */
export function freezeJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  // An index, here and in the other walks over every value: `for of` makes an iterator for each list until V8 has compiled it.
  if (Array.isArray(value)) for (let index = 0; index < value.length; index += 1) freezeJson(value[index]);
  else for (const key in value) freezeJson((value as Readonly<Record<string, unknown>>)[key]);
  return value;
}

interface Fault {
  readonly code: RejectionCode;
  readonly path: string;
  readonly message: string;
}

const fault = (code: RejectionCode, message: string): Fault => ({ code, path: '', message });
const within = (key: string | number, inner: Fault): Fault => ({ ...inner, path: pointerSegment(key) + inner.path });

function findFault(root: unknown): Fault | null {
  let nodes = 0;

  function visit(value: unknown, depth: number): Fault | null {
    nodes += 1;
    if (nodes > JSON_NODES_MAX) return fault('too_large', tooManyValues);
    if (value === null || typeof value === 'boolean') return null;
    if (typeof value === 'string') {
      return value.isWellFormed()
        ? null
        : fault('invalid_value', 'the string has a lone surrogate, which UTF-8 cannot hold');
    }
    if (typeof value === 'number') return numberFault(value);
    if (typeof value !== 'object') return fault('invalid_value', `${typeof value} is not a JSON type`);
    if (depth >= JSON_DEPTH_MAX) return fault('too_deep', tooDeep);
    return Array.isArray(value) ? visitArray(value, depth) : visitObject(value, depth);
  }

  function visitArray(value: readonly unknown[], depth: number): Fault | null {
    for (let index = 0; index < value.length; index += 1) {
      if (!(index in value)) return within(index, fault('invalid_value', 'the array has a hole here'));
      const inner = visit(value[index], depth + 1);
      if (inner !== null) return within(index, inner);
    }
    if (!isPlainList(value))
      return fault('invalid_value', 'the array has fields or a class of its own; send a plain array');
    return null;
  }

  function visitObject(value: object, depth: number): Fault | null {
    if (!isPlainObject(value))
      return fault('invalid_value', 'the object is an instance of a class; send a plain object');
    if (hasHiddenFields(value)) {
      return fault('invalid_value', 'the object has fields that JSON does not show; send a plain object');
    }
    for (const key of Object.keys(value)) {
      if (key === '__proto__') return within(key, fault('invalid_value', 'the key __proto__ is not allowed'));
      if (!key.isWellFormed()) return within('?', fault('invalid_value', 'the key has a lone surrogate'));
      const inner = visit(value[key], depth + 1);
      if (inner !== null) return within(key, inner);
    }
    return null;
  }

  return visit(root, 0);
}

function numberFault(value: number): Fault | null {
  if (!Number.isFinite(value)) return fault('invalid_value', `${value} is not a JSON number`);
  if (Object.is(value, -0)) return fault('invalid_value', 'negative zero is not allowed; send 0');
  return null;
}

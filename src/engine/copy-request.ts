// Copies a request, so that its caller cannot change it later, and checks it against the value domain in the same walk.
// Sealed values are not copied. A value that the walk cannot accept is written as JSON text and parsed again instead, which
// also names the fault.
import { type Either, isLeft, right } from 'fp-ts/lib/Either.js';
import { type Json, hasHiddenFields, isPlainList, isPlainObject } from '../../schemas/json.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX, JSON_DEPTH_MAX } from '../../schemas/limits.ts';
import { sealOf } from '../../schemas/json/sealed.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { wireText } from '../client/wire-text.ts';

export interface RequestCopy {
  readonly value: unknown;
  /** Its approximate size as JSON; exact when it is large. */
  readonly bytes: number;
}

/** The copy, or `invalid_value` or `too_deep` with the path, or `too_large`. */
export function copyRequest(request: unknown): Either<Rejection, RequestCopy> {
  const walk: Walk = { chars: 0, marks: 0 };
  const value = copyOf(request ?? null, 0, walk);
  if (value !== undefined && walk.chars <= CHARS_MAX && walk.marks <= BODY_VALUES_MAX)
    return right({ value, bytes: walk.chars });
  const wired = wireText(request);
  return isLeft(wired) ? wired : right({ value: JSON.parse(wired.right.text), bytes: wired.right.bytes });
}

interface Walk {
  /** Characters of its JSON text, not counting escapes. */
  chars: number;
  /** At least its commas and opening brackets. */
  marks: number;
}

/** A text of this length fits one body even when every character is escaped, which takes six bytes. */
const CHARS_MAX = Math.floor(BODY_BYTES_MAX / 6);
/** The most characters that a number takes. */
const NUMBER_CHARS = 24;

/** Undefined when the value may be outside the domain, or may not fit one body. */
function copyOf(value: unknown, depth: number, walk: Walk): Json | undefined {
  walk.marks += 1;
  if (typeof value === 'string') {
    walk.chars += value.length + 3;
    return value.isWellFormed() ? value : undefined;
  }
  if (typeof value === 'number') {
    walk.chars += NUMBER_CHARS;
    return Number.isFinite(value) && !Object.is(value, -0) ? value : undefined;
  }
  walk.chars += 6;
  walk.marks += 1;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || depth >= JSON_DEPTH_MAX || walk.chars > CHARS_MAX) return undefined;
  const seal = sealOf(value);
  if (seal !== undefined && depth + seal.depth <= JSON_DEPTH_MAX) {
    walk.chars += seal.chars;
    walk.marks += seal.marks;
    return value as Json;
  }
  return Array.isArray(value) ? copyOfList(value, depth, walk) : copyOfObject(value, depth, walk);
}

function copyOfList(value: readonly unknown[], depth: number, walk: Walk): Json | undefined {
  if (!isPlainList(value)) return undefined;
  const copy: Json[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const copied = copyOf(value[index], depth + 1, walk);
    if (copied === undefined) return undefined;
    copy.push(copied);
  }
  return copy;
}

function copyOfObject(value: object, depth: number, walk: Walk): Json | undefined {
  if (!isPlainObject(value) || hasHiddenFields(value)) return undefined;
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const copied = copyOf(value[key], depth + 1, walk);
    if (copied === undefined || key === '__proto__' || !key.isWellFormed()) return undefined;
    walk.chars += key.length + 3;
    copy[key] = copied;
  }
  return copy;
}

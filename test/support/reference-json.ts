// The simplest reader of JSON text: it checks everything in order.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { scanJson } from '../../schemas/json/json-scan.ts';
import { type Json, checkJson } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';

export function referenceParseJson(text: string): Either<Rejection['code'], Json> {
  const scanned = scanJson(text);
  if (scanned !== null) return left(scanned.code);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return left('malformed_json');
  }
  const checked = checkJson(value);
  return checked._tag === 'Left' ? left(checked.left.code) : right(checked.right);
}

// The query of a request, by the shape of its route.
import type { Context } from 'hono';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Codec, decode, integer } from '../../schemas/codec.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Parameters } from './api/route-shape.ts';

/**
 * The query, decoded: a number is written in digits, a flag as `true` or `false`. A name that the route does not know is refused,
 * as a misspelt one would otherwise do nothing. A route without a query takes any.
 */
export function queryOf(context: Context, parameters: Parameters | undefined): Either<Rejection, object> {
  if (parameters === undefined) return right({});
  const fields = parameters.codec.jsonSchema['properties'] as Readonly<Record<string, JsonObject>>;
  const values = Object.entries(context.req.query()).map(([name, text]): readonly [string, unknown] => [
    name,
    Object.hasOwn(fields, name) ? valueOf(text, fields[name]?.['type']) : text,
  ]);
  return decode(parameters.codec as Codec<object>, Object.fromEntries(values));
}

function valueOf(text: string, type: unknown): unknown {
  if (type === 'integer') return DIGITS.test(text) ? Number(text) : text;
  return type === 'boolean' ? (FLAGS.get(text) ?? text) : text;
}

const DIGITS = /^\d{1,16}$/;
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** The position from which a reader follows. A reader that reconnects resumes after the last id it saw. */
export function followFrom(context: Context, from = 0): Either<Rejection, number> {
  const text = context.req.header('last-event-id');
  if (text === undefined) return right(from);
  const last = decode(Count, valueOf(text, 'integer'));
  return isLeft(last) ? left({ ...last.left, path: '/last-event-id' }) : right(last.right + 1);
}

const Count = integer('a number', 0);

// Numbers and lists in the query of a request.
import type { Context } from 'hono';
import { type Either, bind, bindTo, isLeft, left, map, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { decode, integer } from '../../schemas/codec.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { ListSessions } from '../../schemas/wire.ts';

/** The position from which a reader follows. A reader that reconnects resumes after the last id it saw. */
export const followFrom = (context: Context): Either<Rejection, number> =>
  pipe(
    numberOf('last-event-id', context.req.header('last-event-id')),
    bindTo('last'),
    bind('from', () => numberOf('from', context.req.query('from'))),
    map(({ last, from }) => (last === undefined ? (from ?? 0) : last + 1)),
  );

/** The query of a list. Values and names that it does not know are left for the client to refuse. */
export const listRequest = (context: Context): Either<Rejection, ListSessions> =>
  pipe(
    numberOf('limit', context.req.query('limit')),
    map((limit) => {
      const values = Object.entries(context.req.query()).map(([name, value]) => [
        name,
        FLAG_NAMES.has(name) ? (FLAGS.get(value) ?? value) : value,
      ]);
      return { ...Object.fromEntries(values), ...(limit === undefined ? {} : { limit }) } as ListSessions;
    }),
  );

const FLAG_NAMES: ReadonlySet<string> = new Set<keyof ListSessions>(['owing', 'waiting']);
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const Count = integer('a number', 0);

/** A number in the query or in a header; undefined when it is absent. */
export function numberOf(name: string, text: string | undefined): Either<Rejection, number | undefined> {
  if (text === undefined) return right(undefined);
  const decoded = decode(Count, /^\d{1,16}$/.test(text) ? Number(text) : text);
  return isLeft(decoded) ? left({ ...decoded.left, path: `/${name}` }) : decoded;
}

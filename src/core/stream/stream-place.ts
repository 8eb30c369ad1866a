// The ids of a client stream.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { type Rejection, reject } from '../../../schemas/rejection.ts';

/** Where a reader goes on: at this position, after so many of its events. */
export interface StreamPlace {
  readonly position: number;
  readonly skip: number;
}

/** The place after an id; the beginning when there is none. */
export function placeAfter(id: string | undefined): Either<Rejection, StreamPlace> {
  if (id === undefined) return right({ position: 0, skip: 0 });
  const [, position, number] = /^(\d{1,15})(?:\.([1-9]\d{0,8}))?$/.exec(id) ?? [];
  if (position === undefined) {
    const message = `the id "${id.slice(0, 64)}" is none of this stream; it is a position such as 7 or 7.1`;
    return left(reject('invalid_shape', '/last-event-id', message));
  }
  return right(
    number === undefined
      ? { position: Number(position) + 1, skip: 0 }
      : { position: Number(position), skip: Number(number) },
  );
}

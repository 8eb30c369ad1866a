// The arguments of `follow`, checked the same way by both clients.
import { bind, bindTo, isLeft, mapLeft } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { decode } from '../../schemas/codec.ts';
import { Position, SessionId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { FollowRefused } from './follow-refused.ts';

export interface FollowStart {
  readonly id: SessionId;
  readonly from: Position;
}

/** Throws {@link FollowRefused} when the id or the position is invalid. */
export function followStart(id: unknown, from: unknown): FollowStart {
  const start = pipe(
    decode(SessionId, id),
    bindTo('id'),
    bind('from', () => mapLeft((fault: Rejection) => ({ ...fault, path: '/from' }))(decode(Position, from))),
  );
  if (isLeft(start)) throw new FollowRefused(start.left);
  return start.right;
}

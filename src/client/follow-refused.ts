// How following ends when it cannot go on.
import type { Rejection } from '../../schemas/rejection.ts';

/** Thrown by `follow` when the engine refuses: the rejection says why. */
export class FollowRefused extends Error {
  override readonly name = 'FollowRefused';
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(`${rejection.code}: ${rejection.message}`);
    this.rejection = rejection;
  }
}

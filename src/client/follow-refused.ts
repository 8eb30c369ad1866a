// The error that `follow` throws when it cannot continue.
import type { Rejection } from '../../schemas/rejection.ts';

/** Thrown by `follow` when the engine refuses; `rejection` is the reason. */
export class FollowRefused extends Error {
  override readonly name = 'FollowRefused';
  /** Why the engine refuses: code, path and message. */
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(`${rejection.code}: ${rejection.message}`);
    this.rejection = rejection;
  }
}

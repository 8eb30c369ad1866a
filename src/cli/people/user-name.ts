// The user of this process according to the system; recorded with each decision.
import { userInfo } from 'node:os';

export function userName(): string {
  try {
    return userInfo().username.slice(0, 128).toWellFormed() || 'operator';
  } catch {
    // The account has no name, as in many containers.
    return 'operator';
  }
}

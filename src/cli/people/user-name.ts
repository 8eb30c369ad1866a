// Who sits at this terminal, as far as the system knows: recorded beside what they decide.
import { userInfo } from 'node:os';

export function userName(): string {
  try {
    return userInfo().username.slice(0, 128) || 'operator';
  } catch {
    // An account without a name, as in many containers.
    return 'operator';
  }
}

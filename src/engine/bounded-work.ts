// Ends work that takes too long, without a process of its own: the platform interrupts code that runs under a time-out,
// also inside of a regular expression.
import { Script, createContext } from 'node:vm';

const world = createContext({ work: (): unknown => undefined });
const script = new Script('work()');

/** What `work` returns; null when it took longer than so many milliseconds (at least 1), and was ended. */
export function within<T>(timeoutMs: number, work: () => T): { readonly value: T } | null {
  world['work'] = work;
  try {
    return { value: script.runInContext(world, { timeout: timeoutMs }) as T };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  }
}

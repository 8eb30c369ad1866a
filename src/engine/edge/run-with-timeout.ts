// Stops synchronous work that takes too long, without another process: the platform interrupts code that runs in a vm
// context under a timeout, also inside a regular expression.
import { Script, createContext } from 'node:vm';

const context = createContext({ work: (): unknown => undefined });
const script = new Script('work()');

/** What `work` returns; null when it was stopped after `timeoutMs` (at least 1). */
export function runWithTimeout<T>(timeoutMs: number, work: () => T): { readonly value: T } | null {
  context['work'] = work;
  try {
    return { value: script.runInContext(context, { timeout: timeoutMs }) as T };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  }
}

// Bounds one search in time: it stops when the call is cancelled or its time limit is reached.
import { ToolFault } from '../outcome.ts';
import type { HostCallContext } from '../tool.ts';

/** The longest delay that a timer accepts; a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** Runs `act` with a signal that aborts when the call must stop; an error after that becomes `cancelled` or `timeout`. */
export async function withDeadline<T>(
  { signal, timeoutMs }: HostCallContext,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  const timer = setTimeout(stop, Math.min(Math.max(timeoutMs, 1), TIMER_MS_MAX));
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    return await act(ending.signal);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    if (signal.aborted) throw new ToolFault('cancelled', 'the call was cancelled before it finished');
    const advice = 'use a simpler pattern or a narrower path';
    throw new ToolFault('timeout', `the search took longer than ${timeoutMs} ms and was stopped; ${advice}`);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

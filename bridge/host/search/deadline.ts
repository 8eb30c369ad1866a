// Bounds one search in time: it stops when the call is cancelled and when its time is up.
import { ToolFault } from '../outcome.ts';
import type { HostCallContext } from '../tool.ts';

/** Longest delay a timer takes; more would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** Runs `act` with a signal that aborts at the call's end; what it throws then becomes `cancelled` or `timeout`. */
export async function underDeadline<T>(
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

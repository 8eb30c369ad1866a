// Windows of lists.
import type { Window } from '../protocol.ts';

/** The most items of one window. */
const WINDOW_MAX = 500;

/** A window within the bounds. */
export const windowOf = ({ from, limit }: Window): Window => ({
  from: Math.max(0, Math.floor(from)),
  limit: Math.min(WINDOW_MAX, Math.max(0, Math.floor(limit))),
});

export function windowIn<T>(
  items: readonly T[],
  wanted: Window,
): { readonly from: number; readonly items: readonly T[] } {
  const { from, limit } = windowOf(wanted);
  return { from, items: items.slice(from, from + limit) };
}

// The events that the appending process writes, and that the test expects to find afterwards.
import type { SessionId } from '../../../schemas/ids.ts';
import { session } from './samples.ts';

export const loopSessions = ['s0', 's1', 's2', 's3', 's4', 's5'].map(session);

export const loopEvent = (id: SessionId, position: number): string => `${id}-${position}`;

/** The one to three events of each commit, by its position. */
export const loopEvents = (id: SessionId, at: number): readonly string[] =>
  Array.from({ length: (at % 3) + 1 }, (_, n) => loopEvent(id, at + n));

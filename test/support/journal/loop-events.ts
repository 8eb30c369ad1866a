// What the appending process writes, so that whoever looks afterwards knows what should be there.
import type { SessionId } from '../../../schemas/ids.ts';
import { session } from './samples.ts';

export const loopSessions = ['s0', 's1', 's2', 's3', 's4', 's5'].map(session);

export const loopEvent = (id: SessionId, position: number): string => `${id}-${position}`;

/** The events of the append at a version: one to three of them. */
export const loopEvents = (id: SessionId, at: number): readonly string[] =>
  Array.from({ length: (at % 3) + 1 }, (_, n) => loopEvent(id, at + n));

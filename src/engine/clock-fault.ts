// Whether an engine can start on this clock.
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Clock } from '../clock.ts';

/** Only asked at the start: from then on the clock of an engine does not go back. */
export function clockFault(clock: Clock): Rejection | null {
  const now = clock.now();
  if (now >= 0) return null;
  const shows = `the clock of this machine shows a time before 1970 (${now} ms from its beginning)`;
  return reject(
    'invalid_value',
    '/clock',
    `${shows}, which no event can hold; set the clock, and start the engine again`,
  );
}

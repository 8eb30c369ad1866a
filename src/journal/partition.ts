// The partition of a session: a part of all sessions that one engine owns at a time, where several engines share a journal.
import { digestText } from '../../schemas/canonical.ts';
import type { SessionId } from '../../schemas/ids.ts';

/** The first byte of the SHA-256 digest of the id, 0 to 255. */
export const partitionOf = (session: SessionId): number =>
  Number.parseInt(digestText(session).slice(FIRST, FIRST + 2), 16);

const FIRST = 'sha256:'.length;

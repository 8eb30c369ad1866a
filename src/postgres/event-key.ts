// The keys of event ids. Those of one session lie together, so that the index of a busy session stays in memory.
import { Buffer } from 'node:buffer';
import { digestText } from '../../schemas/canonical.ts';
import type { EventId, SessionId } from '../../schemas/ids.ts';

const HEX_START = 'sha256:'.length;
const SESSION_HEX = 8;
const EVENT_HEX = 24;

/** 4 bytes of the digest of the session, then 12 of the digest of both: no two event ids of a session share a key. */
export function eventKeysOf(session: SessionId): (event: EventId) => Buffer {
  const prefix = digestText(session).slice(HEX_START, HEX_START + SESSION_HEX);
  return (event) =>
    Buffer.from(`${prefix}${digestText(`${session}\0${event}`).slice(HEX_START, HEX_START + EVENT_HEX)}`, 'hex');
}

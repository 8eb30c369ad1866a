// How the records of an append are stored: in one piece, a stretch, unless they are large, and each of them in the index
// of event ids.
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import type { JournalRecord } from './journal.ts';
import { eventKey, stretchKey } from './keys.ts';
import { encodeNumber } from './stored-numbers.ts';
import { encodeStretch } from './stored-values.ts';
import type { Put } from './store.ts';

/** Whoever reads one record reads its stretch. */
const STRETCH_CHARS = 32_768;

/** The puts of records that begin at a version of their stream. */
export function putsOfRecords(
  session: SessionId,
  from: Version | Position,
  records: readonly JournalRecord[],
): readonly Put[] {
  const puts: Put[] = [];
  let begun = 0;
  let chars = 0;
  for (const [index, { event, event_id }] of records.entries()) {
    chars += event.length;
    if (chars >= STRETCH_CHARS || index === records.length - 1) {
      const stretch = records.slice(begun, index + 1);
      puts.push({ key: stretchKey(session, (from + begun) as Position), value: encodeStretch(stretch) });
      begun = index + 1;
      chars = 0;
    }
    puts.push(indexPut(session, event_id, (from + index) as Position));
  }
  return puts;
}

const indexPut = (session: SessionId, event: JournalRecord['event_id'], position: Position): Put => ({
  key: eventKey(session, event),
  value: encodeNumber(position),
});

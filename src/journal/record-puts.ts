// The puts that store the records of an append. A stretch is the records of one append, stored as one value; a large append
// is split into several stretches. Each record also gets an entry in the index of event ids.
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import type { JournalRecord } from './journal.ts';
import { eventKey, stretchKey } from './keys.ts';
import { encodeNumber } from './stored-numbers.ts';
import { encodeStretch } from './stored-values.ts';
import type { Put } from './store.ts';

/** A stretch ends after this many characters of text, because reading one record reads its whole stretch. */
const STRETCH_CHARS = 32_768;

/** The puts for records whose first position is `from`. */
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

// What the records of a stream contain.
import { type StreamEvent, type StreamRecord, eventsIn } from '../../schemas/record.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';

/** The events of all commits, with their positions. */
export const streamEvents = (records: readonly StreamRecord[]): readonly StreamEvent[] =>
  records.flatMap((record) => (record.kind === 'commit' ? eventsIn(record) : []));

/** The events of all commits. */
export const eventsOf = (records: readonly StreamRecord[]): readonly RecordedEvent[] =>
  streamEvents(records).map(({ event }) => event);

/** How many events the commits contain, in order. */
export const commitSizes = (records: readonly StreamRecord[]): readonly number[] =>
  records.flatMap((record) => (record.kind === 'commit' ? [record.events.length] : []));

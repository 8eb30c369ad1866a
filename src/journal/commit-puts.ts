// The puts that store a commit: the commit as one value, and an entry in the index of event ids for each of its events.
import type { EventId, Position, SessionId } from '../../schemas/ids.ts';
import type { JournalCommit } from './journal.ts';
import { commitKey, eventKey } from './keys.ts';
import { encodeNumber } from './stored-numbers.ts';
import { encodeCommit } from './stored-values.ts';
import type { Put } from './store.ts';

export const putsOfCommit = (session: SessionId, commit: JournalCommit): readonly Put[] => [
  { key: commitKey(session, commit.position), value: encodeCommit(commit) },
  ...commit.events.map(({ event_id }, index) => indexPut(session, event_id, (commit.position + index) as Position)),
];

const indexPut = (session: SessionId, event: EventId, position: Position): Put => ({
  key: eventKey(session, event),
  value: encodeNumber(position),
});

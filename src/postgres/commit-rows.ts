// A commit as a row: the texts of its events as lines, which canonical JSON never breaks. A row an event would take half as
// much again for what stands beside the texts. The ids of the events stand in their texts, nearly always as the first field
// of this name; where one does not, all of them stand beside.
import type { Buffer } from 'node:buffer';
import { EventId, type Position } from '../../schemas/ids.ts';
import { invariant } from '../../schemas/rejection.ts';
import { idInField } from '../journal/event-id-field.ts';
import type { JournalCommit, JournalEvent } from '../journal/journal.ts';
import { digestBytes, storedDigest } from './digest-bytes.ts';
import type { Row } from './driver.ts';

export interface CommitRow {
  readonly count: number;
  readonly state_digest: Buffer;
  readonly chain: Buffer;
  readonly event_ids: string | null;
  readonly events: string;
}

export function rowOfCommit({ events, state_digest, chain }: JournalCommit): CommitRow {
  return {
    count: events.length,
    state_digest: digestBytes(state_digest),
    chain: digestBytes(chain),
    event_ids: events.every(({ text, event_id }) => idInField(text, 0) === event_id)
      ? null
      : linesOf(events.map(({ event_id }) => event_id)),
    events: linesOf(events.map(({ text }) => text)),
  };
}

const linesOf = (lines: readonly string[]): string => lines.join('\n');

/** Neither a line break nor a zero character stands in canonical JSON, and neither could be stored. */
export function requireStorable(what: string, text: string): void {
  invariant(text.isWellFormed() && !text.includes('\0'), `${what} is not well-formed`);
}

export function requireLines(commits: readonly JournalCommit[]): void {
  for (const { events } of commits) {
    for (const { event_id, text } of events) {
      requireStorable(`the text of event ${event_id}`, text);
      invariant(!text.includes('\n'), `the text of event ${event_id} is not canonical`);
    }
  }
}

/** Null when the row is not one that was stored so. */
export function commitOfRow(row: Row): JournalCommit | null {
  const { position, count, event_ids, events } = row;
  const [state_digest, chain] = [storedDigest(row['state_digest']), storedDigest(row['chain'])];
  if (state_digest === null || chain === null || typeof events !== 'string') return null;
  const texts = events.split('\n');
  const ids = typeof event_ids === 'string' ? event_ids.split('\n') : texts.map((text) => idInField(text, 0));
  if (texts.length !== count || ids.length !== count) return null;
  const read = texts.flatMap((text, at): JournalEvent[] => {
    const event_id = ids[at];
    return EventId.is(event_id) ? [{ text, event_id }] : [];
  });
  return read.length === count ? { position: Number(position) as Position, events: read, state_digest, chain } : null;
}

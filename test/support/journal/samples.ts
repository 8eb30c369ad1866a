// Sessions, events and records for tests.
import { digestText } from '../../../schemas/canonical.ts';
import { type EventId, type Position, SessionId, type Version } from '../../../schemas/ids.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, JournalRecord } from '../../../src/journal/journal.ts';

export function session(name: string): SessionId {
  if (!SessionId.is(name)) throw new Error(`not a session id: ${name}`);
  return name;
}

export const eventId = (text: string): EventId => text as EventId;
export const version = (count: number): Version => count as Version;
export const position = (index: number): Position => index as Position;

/** A record that is derived from its id. */
export function recordOf(id: string, text = `{"event_id":"${id}","note":"ä €  ${id}"}`): JournalRecord {
  return {
    event: text,
    event_id: eventId(id),
    state_digest: digestText(`state ${id}`),
    chain: digestText(`chain ${id}`),
  };
}

/** A snapshot that is derived from its session, version and text; it matches no stream. */
export const snapshotOf = (name: string, at: number, state = `{"at":${at}}`): Snapshot => ({
  session_id: session(name),
  version: version(at),
  state_digest: digestText(state),
  chain: digestText(`chain ${name} ${at}`),
  state,
});

export const recordsOf = (...ids: readonly string[]): readonly JournalRecord[] => ids.map((id) => recordOf(id));

/** Every record of a stream, read page by page. */
export async function readAll(journal: Journal, id: SessionId, page = 1_000): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  for (;;) {
    const next = await must(journal.read(id, position(records.length), page));
    if (next.length === 0) return records;
    records.push(...next);
  }
}

/** The ids of a stream, in order. */
export const readIds = async (journal: Journal, id: SessionId): Promise<readonly string[]> =>
  (await readAll(journal, id)).map(({ event_id }) => event_id);

/** A small random number generator (mulberry32) with a seed, so that a failure can be repeated. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

// The records of a stored or exported stream: the genesis record, then one record for each event.
import { type TypeOf, integer, tagged, variants } from './codec.ts';
import { Genesis } from './genesis.ts';
import { Digest, Position } from './ids.ts';
import { RecordedEvent } from './upcast.ts';

/**
 * One event with the digests of its fold. `chain` is the digest of ["refold/chain/1", previous chain value, event digest,
 * state digest].
 */
export const EventRecord = tagged('event', {
  position: Position,
  /** The event in its recorded form and version. */
  event: RecordedEvent,
  event_digest: Digest,
  state_digest: Digest,
  chain: Digest,
});
export type EventRecord = TypeOf<typeof EventRecord>;

/** The first record. `chain` is the digest of the genesis; `state_digest` that of the initial state. */
export const GenesisRecord = tagged('genesis', {
  format: integer('format', 1, 1),
  genesis: Genesis,
  state_digest: Digest,
  chain: Digest,
});
export type GenesisRecord = TypeOf<typeof GenesisRecord>;

/** One line of an exported session (JSON Lines). */
export const StreamRecord = variants('StreamRecord', 'kind', { genesis: GenesisRecord, event: EventRecord });
export type StreamRecord = TypeOf<typeof StreamRecord>;

// A stream as it is stored and exported: the genesis record, then one record for each event.
import { type TypeOf, integer, tagged, variants } from './codec.ts';

import { Genesis } from './genesis.ts';
import { Digest, Position } from './ids.ts';
import { RecordedEvent } from './upcast.ts';

/** One event with what the fold made of it. `chain` is the digest of ["refold/chain/1", previous, event, state]. */
export const EventRecord = tagged('event', {
  position: Position,
  /** As it was recorded, whatever its version. */
  event: RecordedEvent,
  event_digest: Digest,
  state_digest: Digest,
  chain: Digest,
});
export type EventRecord = TypeOf<typeof EventRecord>;

/** The first record. `chain` is the digest of the genesis record; `state_digest` that of the initial state. */
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

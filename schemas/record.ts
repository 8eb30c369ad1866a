// The records of a stored or exported stream: the tool package it was created with, the genesis record, then one record for
// each commit (docs/format.md).
import { type Either, left } from 'fp-ts/lib/Either.js';
import { type TypeOf, decode, integer, list, tagged, variants } from './codec.ts';
import { Genesis } from './genesis.ts';
import { Digest, Position } from './ids.ts';
import { isPlainObject } from './json.ts';
import { EVENTS_PER_COMMIT_MAX } from './limits.ts';
import { type Rejection, reject } from './rejection.ts';
import { ToolPackage } from './tool-set.ts';
import { RecordedEvent } from './upcast.ts';

/** The first record of a stream: the tool package that the genesis record names. */
export const PackageRecord = tagged('package', { digest: Digest, tool_package: ToolPackage });
export type PackageRecord = TypeOf<typeof PackageRecord>;

/** The record of a session before its events. `chain` is the digest of the genesis, `state_digest` that of the initial state. */
export const GenesisRecord = tagged('genesis', {
  format: integer('format', 2, 2),
  genesis: Genesis,
  state_digest: Digest,
  chain: Digest,
});
export type GenesisRecord = TypeOf<typeof GenesisRecord>;

/**
 * What was appended together, and is never split. `chain` is the digest of ["refold/chain/1", the chain value before, the
 * digests of the events, `state_digest`].
 */
export const CommitRecord = tagged('commit', {
  /** The position of its first event. */
  position: Position,
  /** The events in their recorded form and version. */
  events: list(RecordedEvent, EVENTS_PER_COMMIT_MAX, 1),
  /** The digest of the state after the last event. */
  state_digest: Digest,
  chain: Digest,
});
export type CommitRecord = TypeOf<typeof CommitRecord>;

/** One line of an exported session (JSON Lines). */
export const StreamRecord = variants('StreamRecord', 'kind', {
  package: PackageRecord,
  genesis: GenesisRecord,
  commit: CommitRecord,
});
export type StreamRecord = TypeOf<typeof StreamRecord>;

/** One event of a stream with its position. */
export interface StreamEvent {
  readonly position: Position;
  readonly event: RecordedEvent;
}

/** The events of a commit with their positions. */
export const eventsIn = ({ position, events }: Pick<CommitRecord, 'position' | 'events'>): readonly StreamEvent[] =>
  events.map((event, index) => ({ position: (position + index) as Position, event }));

/** The number of events of the stream up to the end of a commit. */
export const versionAfter = ({
  position,
  events,
}: {
  readonly position: number;
  readonly events: readonly unknown[];
}): number => position + events.length;

/** The record, or a rejection: `outdated` for a genesis record of an export that was made before 0.2. */
export function decodeStreamRecord(value: unknown): Either<Rejection, StreamRecord> {
  return isPlainObject(value) && value['kind'] === 'genesis' && value['format'] === 1
    ? left(reject('outdated', '', 'made before 0.2; record the session anew, or use the refold that made it'))
    : decode(StreamRecord, value);
}

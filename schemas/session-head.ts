// What a journal keeps of a session beside its stream, so that sessions can be listed, and found when they have work, without
// being loaded. It follows from state alone and is written with each append.
import { type TypeOf, flag, nullable, oneOf, shape, text } from './codec.ts';
import { Digest, SessionId, TimeMs, Version } from './ids.ts';
import { CARD_TITLE_CHARS_MAX } from './limits.ts';
import { RunOutcome } from './run.ts';

/**
 * `idle`: no run is live. `paused`: its run is paused. `requires_action`: a person must answer (openboa, "Managed tool
 * confirmation"); calls that do not wait for the answer go on. `waiting`: only a time is awaited. `incomplete`: a fork or an
 * import that is not stored completely, and is not loaded. Otherwise `running`.
 */
export const SessionStatus = oneOf('SessionStatus', [
  'idle',
  'running',
  'waiting',
  'requires_action',
  'paused',
  'incomplete',
]);
export type SessionStatus = TypeOf<typeof SessionStatus>;

/** A session as a list shows it; at most CARD_BYTES_MAX bytes of JSON. */
export const SessionCard = shape('SessionCard', {
  /** The beginning of the first input that is not blank; null before it. */
  title: nullable(text('title', { max: CARD_TITLE_CHARS_MAX })),
  status: SessionStatus,
  /** The session that it was forked from. */
  parent: nullable(SessionId),
  /** When its last event was recorded, or when it was created. */
  last_activity_ms: TimeMs,
  /** How its last run ended. */
  outcome: nullable(RunOutcome),
});
export type SessionCard = TypeOf<typeof SessionCard>;

export const HeadFacts = shape('HeadFacts', {
  /** An effect for a bridge is owed, or a bridge runs a call, so the session must be in memory. */
  owing: flag,
  /** The next time that the session waits for, in milliseconds since 1970. */
  wake_at_ms: nullable(TimeMs),
  card: SessionCard,
});
export type HeadFacts = TypeOf<typeof HeadFacts>;

/** Whether this is the head of a copy that is not stored completely. */
export const isIncomplete = ({ card }: { readonly card: Pick<SessionCard, 'status'> }): boolean =>
  card.status === 'incomplete';

/** The facts of a copy until its last write: nothing of it is owed to anybody, and no time of it comes. */
export const INCOMPLETE: HeadFacts = {
  owing: false,
  wake_at_ms: null,
  card: { title: null, status: 'incomplete', parent: null, last_activity_ms: 0, outcome: null },
};

/** What is left of a session that was deleted. Its id stays taken. */
export const Tombstone = shape('Tombstone', {
  session_id: SessionId,
  /**
   * How many events it had, and the chain value after the last of them: a fork or a checkpoint may name both. Each is null
   * when the session was damaged and this could not be read.
   */
  version: nullable(Version),
  chain: nullable(Digest),
  deleted_at_ms: TimeMs,
});
export type Tombstone = TypeOf<typeof Tombstone>;

// One step: decode, admit, fold, seal, digest. Pure: the same state and event give the same result everywhere.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { admit } from '../../reducers/admission.ts';
import { evolve } from '../../reducers/evolve.ts';
import { type SealedPage, sealTranscript } from '../../reducers/transcript.ts';
import { decode } from '../../schemas/codec.ts';
import { resultsDigest } from '../../reducers/batch-results.ts';
import { canonicalText, digestJson, inCanonicalOrder } from '../../schemas/canonical.ts';
import { INGRESS_KINDS, type IngressEvent, type NewEvent } from '../../schemas/event.ts';
import type { RunEnd } from '../../schemas/run.ts';
import type { Digest } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { RETIRED_KINDS } from '../../schemas/retired-kinds.ts';
import { RecordedEvent, upcast } from '../../schemas/upcast.ts';
import { stateDigest } from './state-digest.ts';

export interface Folded {
  readonly state: SessionState;
  /** The transcript page this event sealed; it must be stored as a blob before the state is used. */
  readonly sealed: SealedPage | null;
}

export interface Step extends Folded {
  readonly stateDigest: Digest;
}

/**
 * Folds one recorded event into the next state, or refuses it; also when it does not say which runs it ends. An accepted event is frozen, because the next state shares its
 * parts. An event of an older version is upcast first.
 */
export function step(state: SessionState, event: RecordedEvent): Either<Rejection, Step> {
  const folded = foldEvent(state, event);
  if (isLeft(folded)) return folded;
  const { state: next, sealed } = folded.right;
  return right({ state: next, stateDigest: stateDigest(next), sealed });
}

export interface NewFolded extends Folded {
  /** The event to record. */
  readonly event: IngressEvent;
}

export type NewStep = NewFolded & Step;

/**
 * {@link step} for an event that is not recorded yet: completes it with what follows from state, which are the runs that it
 * ends (`ends`) and the digest of the results of the batch that it closes (`results_digest`, unless it is given).
 */
export function stepNew(state: SessionState, event: NewEvent): Either<Rejection, NewStep> {
  const folded = foldNew(state, event);
  if (isLeft(folded)) return folded;
  const { event: complete, state: next, sealed } = folded.right;
  return right({ event: complete, state: next, stateDigest: stateDigest(next), sealed });
}

/** {@link stepNew} without the digest. */
export function foldNew(state: SessionState, event: NewEvent): Either<Rejection, NewFolded> {
  const folded = fold(state, withResults(state, event));
  if (isLeft(folded)) return folded;
  const { event: taken, state: next, sealed } = folded.right;
  return right({ event: withEnds(taken, endedRuns(state, next)), state: next, sealed });
}

/** {@link step} without the digest, for callers that check the digest once after many events. */
export function foldEvent(state: SessionState, event: RecordedEvent): Either<Rejection, Folded> {
  const folded = fold(state, event);
  if (isLeft(folded)) return folded;
  const ends = endedRuns(state, folded.right.state);
  return sameEnds(event.ends, ends) ? folded : left(reject('ending_mismatch', '/ends', `it ends ${namesOf(ends)}`));
}

function fold(state: SessionState, event: unknown): Either<Rejection, NewFolded> {
  const decoded = decodeEvent(event);
  if (isLeft(decoded)) return decoded;
  const refusal = admit(state, decoded.right);
  if (refusal !== null) return left(refusal);
  const { state: next, sealed } = sealTranscript(evolve(state, decoded.right));
  return right({ event: decoded.right, state: next, sealed });
}

/** The event with the digest of the results that it closes; of no results when no batch is open, which is refused. */
function withResults(state: SessionState, event: NewEvent): unknown {
  if (event.kind !== 'ToolBatchSettled' || event.results_digest !== undefined) return event;
  const { active_tool_batch: batch } = state;
  return inCanonicalOrder({ ...event, results_digest: batch === null ? digestJson([]) : resultsDigest(batch) });
}

function withEnds(event: IngressEvent, ends: readonly RunEnd[]): IngressEvent {
  if (ends.length > 0) return inCanonicalOrder({ ...event, ends });
  if (event.ends === undefined) return event;
  const { ends: _claimed, ...rest } = event;
  return rest;
}

/** The runs that ended between two states. At most RUN_HISTORY_MAX end in one event, so the history has all of them. */
function endedRuns({ run_history: before }: SessionState, { run_history: after }: SessionState): readonly RunEnd[] {
  if (after === before) return [];
  const last = before.at(-1);
  const first = last === undefined ? 0 : after.lastIndexOf(last) + 1;
  return after
    .slice(first)
    .map(({ run_id, ending: { outcome, code, message } }) => ({ code, message, outcome, run_id }));
}

const sameEnds = (given: readonly RunEnd[] | undefined, ends: readonly RunEnd[]): boolean =>
  given === undefined ? ends.length === 0 : canonicalText(given) === canonicalText(ends);

const namesOf = (ends: readonly RunEnd[]): string =>
  ends.length === 0 ? 'no run' : ends.map(({ run_id, outcome }) => `${run_id} as ${outcome}`).join(', ');

/** Decodes an event of any version into the current shape; or refuses it as `unknown_kind` or `invalid_shape`. */
export function decodeEvent(value: unknown): Either<Rejection, IngressEvent> {
  const kind = isPlainObject(value) ? value['kind'] : undefined;
  if (
    !INGRESS_KINDS.includes(kind as IngressEvent['kind']) &&
    !(typeof kind === 'string' && Object.hasOwn(RETIRED_KINDS, kind))
  ) {
    return left(reject('unknown_kind', '/kind', kindFault(kind)));
  }
  const decoded = decode(RecordedEvent, value);
  return isLeft(decoded) ? decoded : right(upcast(decoded.right));
}

const kindFault = (kind: unknown): string =>
  typeof kind === 'string'
    ? `there is no event of kind ${JSON.stringify(kind.slice(0, 64))}`
    : `must be the name of a kind of event; it is ${typeof kind}`;

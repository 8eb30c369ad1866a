// One step: decode, admit, fold, seal, digest. Pure: the same state and event give the same result everywhere.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { admit } from '../../reducers/admission.ts';
import { evolve } from '../../reducers/evolve.ts';
import { type SealedPage, sealTranscript } from '../../reducers/transcript.ts';
import { decode } from '../../schemas/codec.ts';
import { INGRESS_KINDS, type IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { RETIRED_KINDS, RecordedEvent, upcast } from '../../schemas/upcast.ts';
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
 * Folds one event into the next state, or refuses it. An accepted event is frozen, because the next state shares its
 * parts. An event of an older version is upcast first.
 */
export function step(state: SessionState, event: RecordedEvent): Either<Rejection, Step> {
  const folded = foldEvent(state, event);
  if (isLeft(folded)) return folded;
  const { state: next, sealed } = folded.right;
  return right({ state: next, stateDigest: stateDigest(next), sealed });
}

/** {@link step} without the digest, for callers that check the digest once after many events. */
export function foldEvent(state: SessionState, event: RecordedEvent): Either<Rejection, Folded> {
  const decoded = decodeEvent(event);
  if (isLeft(decoded)) return decoded;
  const refusal = admit(state, decoded.right);
  return refusal === null ? right(sealTranscript(evolve(state, decoded.right))) : left(refusal);
}

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

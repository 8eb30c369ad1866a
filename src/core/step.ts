// One step: decode, admit, fold, seal, digest. Pure: the same state and event give the same answer anywhere.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { admit } from '../../reducers/admission.ts';
import { evolve } from '../../reducers/evolve.ts';
import { type SealedPage, sealTranscript } from '../../reducers/transcript.ts';
import { decode } from '../../schemas/codec.ts';
import { INGRESS_KINDS, IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { isPlainObject } from '../../schemas/json.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest } from './state-digest.ts';

export interface Step {
  readonly state: SessionState;
  readonly stateDigest: Digest;
  /** A transcript page this step sealed: to be kept as a blob before the step is adopted. */
  readonly sealed: SealedPage | null;
}

/**
 * Folds one event into the next state, or refuses it and leaves the state as it is. An accepted event is taken over:
 * it is frozen together with the state that now shares its parts.
 */
export function step(state: SessionState, event: IngressEvent): Either<Rejection, Step> {
  const decoded = decodeEvent(event);
  if (isLeft(decoded)) return decoded;
  const refusal = admit(state, decoded.right);
  if (refusal !== null) return left(refusal);
  const { state: next, sealed } = sealTranscript(evolve(state, decoded.right));
  return right({ state: next, stateDigest: stateDigest(next), sealed });
}

/** An event of any origin: `unknown_kind`, `invalid_shape` with the path, or the event. */
export function decodeEvent(value: unknown): Either<Rejection, IngressEvent> {
  const kind = isPlainObject(value) ? value['kind'] : undefined;
  if (!INGRESS_KINDS.includes(kind as IngressEvent['kind'])) {
    return left(reject('unknown_kind', '/kind', `there is no event of kind ${nameOf(kind)}`));
  }
  return decode(IngressEvent, value);
}

const nameOf = (kind: unknown): string =>
  typeof kind === 'string' ? JSON.stringify(kind.slice(0, 64)) : `a ${typeof kind}`;

// Facts that a copy of a stream records itself, so that it is independent of the place where the stream was recorded. Pure.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { EVENT_VERSION, type Ingress } from '../../../schemas/event.ts';
import { type Digest, type Position, brand } from '../../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../../schemas/limits.ts';
import { type CommitRecord, versionAfter } from '../../../schemas/record.ts';
import type { Rejection } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { SealedPage } from '../../../reducers/transcript.ts';
import { eventDigest, nextChain } from '../chain.ts';
import { stateDigest } from '../state-digest.ts';
import { foldNew } from '../step.ts';

type OwnFactKind =
  | 'LeaseExpired'
  | 'ToolCallSettled'
  | 'UndoSettled'
  | 'RunPaused'
  | 'RunCancelled'
  | 'HostSessionUpdated'
  | 'ToolsetRemoved'
  | 'ConsentPolicySet'
  | 'user.custom_tool_result'
  | 'user.elicitation_result'
  | 'user.tool_confirmation';
export type OwnFact = Extract<Ingress, { readonly kind: OwnFactKind }>;

/** The end of a stream: the number of its events, and its chain value. */
export interface StreamHead {
  readonly version: number;
  readonly chain: Digest;
}

/** Where a copy goes on alone: the state, the end of the copied commits, and copied events that no whole commit holds. */
export interface CopyPoint {
  readonly state: SessionState;
  readonly head: StreamHead;
  readonly events: readonly RecordedEvent[];
}

export interface OwnCommits {
  /** The copied events of a commit that is not shared whole, and the first facts that only the copy has. */
  readonly commits: readonly CommitRecord[];
  readonly state: SessionState;
  /** Transcript pages that the facts sealed; they must be stored with the commits. */
  readonly sealed: readonly SealedPage[];
}

/**
 * Folds and commits what `next` gives until it gives null. The events are named `name`-1 and so on, and are not older than
 * `at_ms`. A rejection when a fact is refused.
 */
export function commitOwnFacts(
  point: CopyPoint,
  { name, at_ms }: { readonly name: string; readonly at_ms: number },
  next: (state: SessionState) => OwnFact | null,
): Either<Rejection, OwnCommits> {
  const commits: CommitRecord[] = [];
  const sealed: SealedPage[] = [];
  let { state, events, head } = point;
  const close = (): void => {
    if (events.length === 0) return;
    const commit = copiedCommit(head, events, state);
    commits.push(commit);
    head = { version: versionAfter(commit), chain: commit.chain };
    events = [];
  };
  for (let made = 1, fact = next(state); fact !== null; fact = next(state), made += 1) {
    if (events.length === EVENTS_PER_COMMIT_MAX) close();
    const envelope = {
      v: EVENT_VERSION,
      event_id: brand<'EventId'>(`${name}-${made}`),
      at_ms: Math.max(state.updated_at_ms, at_ms),
    };
    const folded = foldNew(state, { ...fact, ...envelope });
    if (isLeft(folded)) return left(folded.left);
    const { event, state: after, sealed: page } = folded.right;
    if (page !== null) sealed.push(page);
    events = [...events, event];
    state = after;
  }
  close();
  return right({ commits, state, sealed });
}

/** The commit of these events after the head, which lead to the state. */
export function copiedCommit(head: StreamHead, events: readonly RecordedEvent[], state: SessionState): CommitRecord {
  const state_digest = stateDigest(state);
  const chain = nextChain(head.chain, events.map(eventDigest), state_digest);
  return { kind: 'commit', position: head.version as Position, events, state_digest, chain };
}

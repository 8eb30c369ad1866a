// Watches one session: what it is, what it owes, who it waits for, and what the model writes. The stream is folded here, from
// its beginning, so that nothing is shown that the log does not say.
import type { Effect } from '../../../schemas/effect.ts';
import type { Digest, Position, SessionId, Version } from '../../../schemas/ids.ts';
import { reject } from '../../../schemas/rejection.ts';
import type { SessionStatus } from '../../../schemas/session-head.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { DeltaFrame } from '../../../schemas/wire.ts';
import { effects } from '../../core/effects.ts';
import { type Elicitation, type RequiredAction, isElicitation, isRequiredAction, statusOf } from '../../core/status.ts';
import type { EngineClient, FollowOptions } from '../client.ts';
import { must } from '../must.ts';
import { RejectedError } from '../rejected-error.ts';
import { type CheckedFold, type FoldedTo, newCheckedFold } from './checked-fold.ts';

export interface WatchOptions {
  /**
   * How many events were seen before: the `version` of the last item. Without it the watch begins with the session as it is
   * now; with 0 it begins with the new session.
   */
  readonly from?: number;
  /** Ends the watch. */
  readonly signal?: AbortSignal;
}

/** A session at one moment, and what is new since the item before. */
export interface WatchedSession {
  /** The number of events so far: `from` of a later watch that goes on here. */
  readonly version: Version;
  /** The state after the last of its events: plain, frozen JSON. */
  readonly state: SessionState;
  /** The digest of the state, which was compared with the recorded one. */
  readonly stateDigest: Digest;
  /** `requires_action` when a person is waited for; `waiting` when only a time is. */
  readonly status: SessionStatus;
  /** What bridges, people and the engine owe the session now, in call order. */
  readonly owed: readonly Effect[];
  /**
   * What waits for a person, in call order: approvals (`agent.tool_use`) and custom calls (`agent.custom_tool_use`). Answer
   * with the `batch_id`, `call_id` and `arguments_digest` of the item.
   */
  readonly waiting: readonly RequiredAction[];
  /**
   * What calls ask, in call order (`agent.elicitation`). Answer with `user.elicitation_result`, and the `batch_id`, `call_id`,
   * `attempt` and `question` of the item.
   */
  readonly questions: readonly Elicitation[];
  /** The events since the item before, in their recorded form; none in the first item, or while the model writes. */
  readonly events: readonly {
    /** Its number in the stream, from 0. */
    readonly position: Position;
    /** As it was recorded, in the format of its time. */
    readonly event: RecordedEvent;
  }[];
  /** What the model has written since the item before, which is never recorded; none after a commit. */
  readonly deltas: readonly DeltaFrame[];
}

/**
 * The session as of `from` events, then after each commit, and whenever the model has written something. When `from` is
 * inside a commit, the first item is the session after it, with the rest of its events.
 *
 * The stream is folded from its first event whatever `from` is, and every digest is compared; memory is that of one state and
 * one commit. It ends when the signal aborts or the client is closed; over HTTP it goes on after a restart of the engine.
 *
 * Throws a {@link RejectedError} when the session is not readable or has fewer than `from` events (`position_unknown`), a
 * `FollowRefused` when the engine refuses later, and a `StreamDiverged` when the stream does not fold as recorded.
 */
export async function* watch(
  client: EngineClient,
  session: SessionId,
  { from, signal }: WatchOptions = {},
): AsyncGenerator<WatchedSession, void> {
  const { version } = (await must(client.session(session))).state;
  const first = from ?? version;
  if (!(first >= 0 && first <= version)) throw new RejectedError(notReached(session, first, version));
  const { fold, genesis } = await beginFold(client, session);
  let shown: WatchedSession | null = first === 0 ? itemOf(genesis, first) : null;
  if (shown !== null) yield shown;
  for await (const record of client.followLive(session, until(signal))) {
    if (signal?.aborted === true) return;
    if (record.kind === 'delta') {
      if (shown !== null) yield { ...shown, events: [], deltas: [record] };
      continue;
    }
    const folded = fold.add(record);
    if (folded === null || folded.state.version < first) continue;
    yield (shown = itemOf(folded, first));
  }
}

const until = (signal?: AbortSignal): FollowOptions => (signal === undefined ? {} : { signal });

const notReached = (session: SessionId, from: number, version: number) =>
  reject('position_unknown', '/from', `${session} has ${version} events; from is ${from}`);

interface Begun {
  readonly fold: CheckedFold;
  readonly genesis: FoldedTo;
}

/** The fold of a stream before its first event. */
async function beginFold(client: EngineClient, session: SessionId): Promise<Begun> {
  const fold = newCheckedFold(session);
  for (const record of await must(client.records(session, undefined, 1))) {
    const folded = record.kind === 'commit' ? null : fold.add(record);
    if (folded !== null) return { fold, genesis: folded };
  }
  throw new RejectedError(reject('damaged', '', `the stream of ${session} has no genesis record`));
}

function itemOf({ state, stateDigest, events }: FoldedTo, first: number): WatchedSession {
  const owed = effects(state);
  return {
    version: state.version,
    state,
    stateDigest,
    status: statusOf(state),
    owed,
    waiting: owed.filter(isRequiredAction),
    questions: owed.filter(isElicitation),
    events: events.filter(({ position }) => position >= first).map(({ position, event }) => ({ position, event })),
    deltas: [],
  };
}

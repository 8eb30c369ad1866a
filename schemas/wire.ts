// The requests and answers between clients and the engine, the same in process and over HTTP.
import { type TypeOf, either, flag, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { ConsentPolicy } from './consent.ts';
import { Effect } from './effect.ts';
import { Ingress } from './event.ts';
import { BatchId, Digest, EffectId, EventId, OwnerId, Position, RunId, SessionId, TimeMs, Version } from './ids.ts';
import {
  BACKUP_ENTRIES,
  BACKUP_VALUE_CHARS_MAX,
  BLOB_PARTS_MAX,
  CALLS_PER_BATCH_MAX,
  DELTAS_CHARS_MAX,
  DELTA_PARTS_MAX,
  EVENTS_PER_COMMIT_MAX,
  LEASE_EFFECTS_MAX,
  LEASE_WAIT_MS_MAX,
  SESSIONS_PAGE_MAX,
  SUBMITS_TOGETHER_MAX,
  TOOLS_MAX,
} from './limits.ts';
import { ToolBatchPlan } from './plan.ts';
import { RunConfigPatch } from './run.ts';
import { SessionCard, SessionStatus, Tombstone } from './session-head.ts';
import { SessionState } from './state.ts';
import { ToolPackage } from './tool-set.ts';
import { WorkspaceName } from './undo.ts';

/** A new session. Optional: its id, config, tool package and policy. */
export const CreateSession = shape(
  'CreateSession',
  {},
  { session_id: SessionId, config: RunConfigPatch, tool_package: ToolPackage, consent: ConsentPolicy },
);
export type CreateSession = TypeOf<typeof CreateSession>;

/** One session in a list. `owing`: an effect for a bridge is owed, or a bridge holds a call that runs. */
export const SessionSummary = shape('SessionSummary', {
  session_id: SessionId,
  version: Version,
  owing: flag,
  wake_at_ms: nullable(TimeMs),
  card: SessionCard,
});
export type SessionSummary = TypeOf<typeof SessionSummary>;

/** A page of the sessions, by id in byte order: all of them, or those that every filter lets through. */
export const ListSessions = shape(
  'ListSessions',
  {},
  {
    /** Only sessions after this id. */
    after: SessionId,
    limit: integer('a number of sessions', 1, SESSIONS_PAGE_MAX),
    /** Whether it has work for a bridge. */
    owing: flag,
    /** Whether it waits for a person (`requires_action`) or only for a time (`waiting`). */
    waiting: flag,
    status: SessionStatus,
  },
);
export type ListSessions = TypeOf<typeof ListSessions>;

/** A page of the deleted sessions, by id in byte order. */
export const ListDeleted = shape(
  'ListDeleted',
  {},
  {
    /** Only sessions after this id. */
    after: SessionId,
    limit: integer('a number of sessions', 1, SESSIONS_PAGE_MAX),
  },
);
export type ListDeleted = TypeOf<typeof ListDeleted>;

/** `next`: ask for the deleted sessions after this id; null at the end. */
export const DeletedPage = shape('DeletedPage', {
  deleted: list(Tombstone, SESSIONS_PAGE_MAX),
  next: nullable(SessionId),
});
export type DeletedPage = TypeOf<typeof DeletedPage>;

/**
 * `next`: ask for the sessions after this id; null at the end. A page examines at most SESSIONS_EXAMINED_MAX sessions, so a
 * page with filters may be short, or empty, and yet have a `next`.
 */
export const SessionPage = shape('SessionPage', {
  sessions: list(SessionSummary, SESSIONS_PAGE_MAX),
  next: nullable(SessionId),
});
export type SessionPage = TypeOf<typeof SessionPage>;

/** `connected`: the owner has a request for leases waiting at the engine, as a live bridge has at almost all times. */
const EffectHolder = shape('EffectHolder', { effect_id: EffectId, owner: OwnerId, connected: flag });

/**
 * The state of a session, with its digest and the chain value that heads its stream. `held_by`: which owners hold leases on
 * what the session owes now; absent when none does.
 */
export const SessionView = shape(
  'SessionView',
  {
    state: SessionState,
    state_digest: Digest,
    chain: Digest,
    status: SessionStatus,
    /** The ids of the `agent.tool_use`, `agent.custom_tool_use` and `agent.elicitation` effects that wait for an answer. */
    blocking_event_ids: list(EffectId, CALLS_PER_BATCH_MAX),
  },
  { held_by: list(EffectHolder, LEASE_EFFECTS_MAX, 1) },
);
export type SessionView = TypeOf<typeof SessionView>;

/** What happens in the fork to a run that is live at its position: it is paused, continues, or is cancelled. */
export const ForkedRun = oneOf('ForkedRun', ['pause', 'go', 'end']);
export type ForkedRun = TypeOf<typeof ForkedRun>;

/** A new session with the first `at` events of another; by default all of them, with a live run paused. */
export const ForkSession = shape('ForkSession', {}, { session_id: SessionId, at: Version, run: ForkedRun });
export type ForkSession = TypeOf<typeof ForkSession>;
/** The request as a client writes it: `at` is a plain number, which the engine checks. */
export type ForkRequest = Omit<ForkSession, 'at'> & { readonly at?: number };

/** The number of one grant of an effect: it grows with each grant, also across restarts of the engine. */
export const Epoch = integer('an epoch', 1);

/** The lease a report is made under. */
export const HeldLease = shape('HeldLease', { effect_id: EffectId, epoch: Epoch });
export type HeldLease = TypeOf<typeof HeldLease>;

const effectKind = oneOf('effect kind', [
  'llm.generate',
  'llm.compact',
  'tool.call',
  'tool.cancel',
  'batch.settle',
  'host_session.open',
  'call.undo',
  'call.preview',
  'tool.answer',
]);

const wanted = {
  kinds: list(effectKind, 10),
  tools: list(text('tool pattern', { min: 1, max: 128 }), TOOLS_MAX),
  max: integer('max', 1, LEASE_EFFECTS_MAX),
} as const;

/**
 * Which effects a bridge wants, and at most how many. `tools`: the tool ids it executes, exact or ending in `*`. `workspace`:
 * where it can undo calls.
 */
export const Wanted = shape('Wanted', wanted, { workspace: WorkspaceName });
export type Wanted = TypeOf<typeof Wanted>;

/** Asks for effects. Waits up to `wait_ms` for the first one. A lease expires unless a heartbeat extends it. */
export const LeaseRequest = shape(
  'LeaseRequest',
  { owner: OwnerId, ...wanted, wait_ms: integer('wait_ms', 0, LEASE_WAIT_MS_MAX) },
  { sessions: list(SessionId, 256), workspace: WorkspaceName },
);
export type LeaseRequest = TypeOf<typeof LeaseRequest>;

/** Names one lease. `epoch`: the epoch of its grant; without it, the lease is identified by its owner alone. */
export const LeaseKey = shape('LeaseKey', { session_id: SessionId, effect_id: EffectId }, { epoch: Epoch });
export type LeaseKey = TypeOf<typeof LeaseKey>;

/** Granted effects, with the plans of their calls. Check the digest of a plan before running a call of it. */
export const LeaseGrant = shape('LeaseGrant', {
  effects: list(Effect, LEASE_EFFECTS_MAX),
  /** The epoch of each effect, in the same order, for heartbeats and reports. */
  epochs: list(Epoch, LEASE_EFFECTS_MAX),
  plans: list(
    shape('LeasedPlan', { session_id: SessionId, batch_id: BatchId, plan: ToolBatchPlan }),
    LEASE_EFFECTS_MAX,
  ),
  /** How long the leases last without a heartbeat, in milliseconds. */
  ttl_ms: integer('ttl_ms', 1),
});
export type LeaseGrant = TypeOf<typeof LeaseGrant>;

/**
 * Facts to append, all or none. `owner`: the bridge that reports. `leases`, with an owner: the leases it reports under. A
 * report on an effect needs both: it is refused when another owner holds the lease, and when the lease was lost, even if
 * no other owner has the effect now.
 * `lease`, with an owner: also asks for effects that the session owes once the facts are durable.
 */
export const Submit = shape(
  'Submit',
  { events: list(Ingress, EVENTS_PER_COMMIT_MAX, 1) },
  { expected_version: Version, owner: OwnerId, leases: list(HeldLease, EVENTS_PER_COMMIT_MAX), lease: Wanted },
);
export type Submit = TypeOf<typeof Submit>;

/**
 * The positions of the events. `repeated`: the event id was recorded already, and the first answer is repeated.
 * `granted`: the effects granted for `lease`, absent when there are none; a repeated answer repeats its grants.
 */
export const SubmitReceipt = shape(
  'SubmitReceipt',
  {
    version: Version,
    events: list(shape('Appended', { event_id: EventId, position: Position, repeated: flag }), EVENTS_PER_COMMIT_MAX),
  },
  { granted: LeaseGrant },
);
export type SubmitReceipt = TypeOf<typeof SubmitReceipt>;

/** What a model has written: `text`, which becomes the content of its turn, or `thinking`. */
export const DeltaPart = shape('DeltaPart', {
  kind: oneOf('kind', ['text', 'thinking']),
  text: text('text', { min: 1, max: DELTAS_CHARS_MAX }),
});
export type DeltaPart = TypeOf<typeof DeltaPart>;

/**
 * What a model has written since the last post, under the lease on its generate. It is shown to those who watch, and never
 * recorded. A post under a newer lease retracts what was posted under the one before.
 */
export const PostDeltas = shape('PostDeltas', {
  owner: OwnerId,
  effect_id: EffectId,
  epoch: Epoch,
  parts: list(DeltaPart, DELTA_PARTS_MAX, 1),
});
export type PostDeltas = TypeOf<typeof PostDeltas>;

/** `readers`: how many watch the session. */
export const DeltasTaken = shape('DeltasTaken', { readers: integer('readers', 0) });
export type DeltasTaken = TypeOf<typeof DeltasTaken>;

/**
 * What a model has written of a turn since the last frame, as those who watch see it; frames that a reader has not taken are
 * merged. With `retract`, first forget what earlier frames said of this turn. The commit with the turn's
 * `ToolCallsObserved` takes the place of all its frames.
 */
export const DeltaFrame = shape(
  'DeltaFrame',
  {
    kind: oneOf('kind', ['delta']),
    run_id: RunId,
    turn: integer('turn', 1),
    parts: list(DeltaPart, 2 * DELTAS_CHARS_MAX),
  },
  { retract: flag },
);
export type DeltaFrame = TypeOf<typeof DeltaFrame>;

/** Extends the leases that are still held. */
export const Heartbeat = shape('Heartbeat', { owner: OwnerId, leases: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) });
export type Heartbeat = TypeOf<typeof Heartbeat>;

/** Releases leases. `all`: every lease of this owner, for a process that is gone and whose leases are not known. */
export const Release = shape(
  'Release',
  { owner: OwnerId, leases: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) },
  { all: flag },
);
export type Release = TypeOf<typeof Release>;

/** The leases that were lost: stop their work, because its report would be refused. */
export const HeartbeatReply = shape('HeartbeatReply', { lost: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) });
export type HeartbeatReply = TypeOf<typeof HeartbeatReply>;

/** Errors over HTTP: RFC 9457 problem details with the code and path of the rejection. */
export const Problem = shape(
  'Problem',
  { type: text('type', { max: 256 }), title: text('title', { max: 256 }), status: integer('status', 400, 599) },
  { code: text('code', { max: 64 }), path: text('path', { max: 4_096 }), detail: text('detail', { max: 4_096 }) },
);
export type Problem = TypeOf<typeof Problem>;

/** The answers to a request with several submits, in their order: a receipt, or why the submit was refused. */
export const SubmitsReply = shape('SubmitsReply', {
  answers: list(either('answer', SubmitReceipt, Problem), SUBMITS_TOGETHER_MAX),
});
export type SubmitsReply = TypeOf<typeof SubmitsReply>;

/** Blobs that are stored already, and whose bytes one after the other are the blob to store. */
export const JoinBlobs = shape('JoinBlobs', { parts: list(Digest, BLOB_PARTS_MAX, 1) });
export type JoinBlobs = TypeOf<typeof JoinBlobs>;

/** A part of a backup: entries of the journal, digests of blobs, or at the end how many there were of both. */
export const BackupPart = shape(
  'BackupPart',
  {},
  {
    /** Keys and values in base64. */
    entries: list(
      shape('BackupEntry', {
        key: text('key', { max: BACKUP_VALUE_CHARS_MAX }),
        value: text('value', { max: BACKUP_VALUE_CHARS_MAX }),
      }),
      BACKUP_ENTRIES,
    ),
    blobs: list(Digest, BACKUP_ENTRIES),
    end: shape('BackupCounts', { entries: integer('entries', 0), blobs: integer('blobs', 0) }),
  },
);
export type BackupPart = TypeOf<typeof BackupPart>;

/** Name, version and start time of the engine. */
export const EngineInfo = shape('EngineInfo', {
  name: oneOf('name', ['refold']),
  version: text('version', { max: 32 }),
  started_at_ms: TimeMs,
});
export type EngineInfo = TypeOf<typeof EngineInfo>;

/** How a blob is put. */
export interface PutBlobOptions {
  /** False: the answer does not wait for the disk, and a crash may lose the blob as a whole. True by default. */
  readonly durable?: boolean;
}

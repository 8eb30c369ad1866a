// What clients and the engine say to each other, in process and over HTTP alike.
import { type TypeOf, either, flag, integer, list, oneOf, shape, text } from './codec.ts';
import { ConsentPolicy } from './consent.ts';
import { Effect } from './effect.ts';
import { Ingress } from './event.ts';
import { BatchId, Digest, EffectId, EventId, OwnerId, Position, SessionId, TimeMs, Version } from './ids.ts';
import {
  CALLS_PER_BATCH_MAX,
  EVENTS_PER_APPEND_MAX,
  LEASE_EFFECTS_MAX,
  LEASE_WAIT_MS_MAX,
  SUBMITS_TOGETHER_MAX,
} from './limits.ts';
import { ToolBatchPlan } from './plan.ts';
import { RunConfigPatch } from './run.ts';
import { SessionState } from './state.ts';
import { ToolPackage } from './tool-set.ts';
import { TOOLS_MAX } from './limits.ts';

/** A new session: an id of one's own choice, another config, tool package or policy. All optional. */
export const CreateSession = shape(
  'CreateSession',
  {},
  { session_id: SessionId, config: RunConfigPatch, tool_package: ToolPackage, consent: ConsentPolicy },
);
export type CreateSession = TypeOf<typeof CreateSession>;

/** One session in a list. `owing`: something is owed by a bridge. */
export const SessionSummary = shape('SessionSummary', { session_id: SessionId, version: Version, owing: flag });
export type SessionSummary = TypeOf<typeof SessionSummary>;

/** The state of a session, with its digest and the chain value that heads its stream. */
export const SessionView = shape('SessionView', {
  state: SessionState,
  state_digest: Digest,
  chain: Digest,
  /** `requires_action`: something waits for a person (openboa "Managed tool confirmation"). */
  status: oneOf('status', ['idle', 'running', 'paused', 'requires_action']),
  /** The effects `agent.tool_use` and `agent.custom_tool_use` that wait for an answer. */
  blocking_event_ids: list(EffectId, CALLS_PER_BATCH_MAX),
});
export type SessionView = TypeOf<typeof SessionView>;

/**
 * What becomes of a run that is live where a session is forked: it waits to be resumed, goes on at once, or is
 * cancelled.
 */
export const ForkedRun = oneOf('ForkedRun', ['pause', 'go', 'end']);
export type ForkedRun = TypeOf<typeof ForkedRun>;

/** A new session with the first `at` events of another one; by default all of them, and a live run is paused. */
export const ForkSession = shape('ForkSession', {}, { session_id: SessionId, at: Version, run: ForkedRun });
export type ForkSession = TypeOf<typeof ForkSession>;
/** What a client asks with: its version may be any number, which is checked where it arrives. */
export type ForkRequest = Omit<ForkSession, 'at'> & { readonly at?: number };

/** Tells one grant of an effect from every other: it grows with each, also across restarts of the engine. */
export const Epoch = integer('an epoch', 1);

/** A lease under which something is reported. */
export const HeldLease = shape('HeldLease', { effect_id: EffectId, epoch: Epoch });
export type HeldLease = TypeOf<typeof HeldLease>;

const effectKind = oneOf('effect kind', [
  'llm.generate',
  'tool.call',
  'tool.cancel',
  'batch.settle',
  'host_session.open',
  'call.undo',
]);

const wanted = {
  kinds: list(effectKind, 8),
  tools: list(text('tool pattern', { min: 1, max: 128 }), TOOLS_MAX),
  max: integer('max', 1, LEASE_EFFECTS_MAX),
} as const;

/** Effects to do, and at most how many. `tools`: tool ids this bridge executes, exact or with a closing `*`. */
export const Wanted = shape('Wanted', wanted);
export type Wanted = TypeOf<typeof Wanted>;

/**
 * Asks for effects to do. Waits up to `wait_ms` for the first effect. Leases last until their deadline unless a
 * heartbeat extends them.
 */
export const LeaseRequest = shape(
  'LeaseRequest',
  { owner: OwnerId, ...wanted, wait_ms: integer('wait_ms', 0, LEASE_WAIT_MS_MAX) },
  { sessions: list(SessionId, 256) },
);
export type LeaseRequest = TypeOf<typeof LeaseRequest>;

/** Names one lease. `epoch`: that of its grant, without which only the owner tells whose it is. */
export const LeaseKey = shape('LeaseKey', { session_id: SessionId, effect_id: EffectId }, { epoch: Epoch });
export type LeaseKey = TypeOf<typeof LeaseKey>;

/** Effects handed out, with the plans their calls belong to: check a plan's digest before running a call of it. */
export const LeaseGrant = shape('LeaseGrant', {
  effects: list(Effect, LEASE_EFFECTS_MAX),
  /** Of each effect, in the same order: to be named in heartbeats and reports. */
  epochs: list(Epoch, LEASE_EFFECTS_MAX),
  plans: list(
    shape('LeasedPlan', { session_id: SessionId, batch_id: BatchId, plan: ToolBatchPlan }),
    LEASE_EFFECTS_MAX,
  ),
  /** How long the leases last without a heartbeat. */
  ttl_ms: integer('ttl_ms', 1),
});
export type LeaseGrant = TypeOf<typeof LeaseGrant>;

/**
 * Facts to append, all or none. `owner`: the bridge that reports; a lease somebody else holds refuses it. `leases`, with an
 * owner: those under which it reports; one that was lost is refused, whether or not somebody else has the effect now.
 * `lease`, with an owner: what the session owes once this is durable is asked for in the same breath.
 */
export const Submit = shape(
  'Submit',
  { events: list(Ingress, EVENTS_PER_APPEND_MAX, 1) },
  { expected_version: Version, owner: OwnerId, leases: list(HeldLease, EVENTS_PER_APPEND_MAX), lease: Wanted },
);
export type Submit = TypeOf<typeof Submit>;

/**
 * Where the events are now. `repeated`: the event id was there already, and this is the first answer again. `granted`:
 * what was asked for with it, absent when there is nothing; what the first answer granted comes again with that answer.
 */
export const SubmitReceipt = shape(
  'SubmitReceipt',
  {
    version: Version,
    state_digest: Digest,
    events: list(shape('Appended', { event_id: EventId, position: Position, repeated: flag }), EVENTS_PER_APPEND_MAX),
  },
  { granted: LeaseGrant },
);
export type SubmitReceipt = TypeOf<typeof SubmitReceipt>;

/** Still at it: extends the leases that are still held. */
export const Heartbeat = shape('Heartbeat', { owner: OwnerId, leases: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) });
export type Heartbeat = TypeOf<typeof Heartbeat>;

/** Given back. `all`: everything this owner holds, whatever it is, for one that is gone and cannot say what it had. */
export const Release = shape(
  'Release',
  { owner: OwnerId, leases: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) },
  { all: flag },
);
export type Release = TypeOf<typeof Release>;

/** Leases that are gone: stop that work; its report would change nothing. */
export const HeartbeatReply = shape('HeartbeatReply', { lost: list(LeaseKey, 4 * LEASE_EFFECTS_MAX) });
export type HeartbeatReply = TypeOf<typeof HeartbeatReply>;

/** Errors over HTTP: RFC 9457 problem details with the rejection's code and path. */
export const Problem = shape(
  'Problem',
  { type: text('type', { max: 256 }), title: text('title', { max: 256 }), status: integer('status', 400, 599) },
  { code: text('code', { max: 64 }), path: text('path', { max: 4_096 }), detail: text('detail', { max: 4_096 }) },
);
export type Problem = TypeOf<typeof Problem>;

/** One answer for each submit of a request that carried several, in their order: a receipt, or why it was refused. */
export const SubmitsReply = shape('SubmitsReply', {
  answers: list(either('answer', SubmitReceipt, Problem), SUBMITS_TOGETHER_MAX),
});
export type SubmitsReply = TypeOf<typeof SubmitsReply>;

/** What the engine says of itself. */
export const EngineInfo = shape('EngineInfo', {
  name: oneOf('name', ['refold']),
  version: text('version', { max: 32 }),
  started_at_ms: TimeMs,
});
export type EngineInfo = TypeOf<typeof EngineInfo>;

// A fork: a new stream with the first events of another one, independent from there on. The shared events are equal byte
// for byte; the digests differ, because the genesis record of the fork names its source (`forked_from`). Pure: the caller
// reads the source and writes the fork.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { callStateAt, plannedOf } from '../../reducers/batch-index.ts';
import { phaseOf, transitionsOf } from '../../reducers/run-phases.ts';
import { digestJson } from '../../schemas/canonical.ts';
import { EVENT_VERSION, type EventOfKind, type Ingress, type IngressEvent } from '../../schemas/event.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import { type Digest, type Position, type SessionId, brand } from '../../schemas/ids.ts';
import type { EventRecord, GenesisRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject, invariant } from '../../schemas/rejection.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';
import type { PendingUndo } from '../../schemas/undo.ts';
import type { ForkedRun } from '../../schemas/wire.ts';
import { eventDigest, genesisChain, nextChain } from './chain.ts';
import { newReplayer } from './replay.ts';
import { stateDigest } from './state-digest.ts';
import { step } from './step.ts';

export interface ForkOrder {
  /** The new stream. */
  readonly session_id: SessionId;
  /** How many events it shares with its source. */
  readonly at: number;
  /** The source's chain value after them. */
  readonly chain: Digest;
  /** What happens to a run that is live there. */
  readonly run: ForkedRun;
  /** The time of the fork; the fork's own facts are not older. */
  readonly at_ms: number;
}

/** Takes the records of the source from its genesis on, and returns those of the fork. */
export interface Forker {
  /** The fork's record for the next one of the source; `damaged` when the source does not verify. */
  add(record: StreamRecord): Either<Rejection, StreamRecord>;
  /** The facts after the shared events. Refused before all shared events were added. */
  finish(): Either<Rejection, ForkEnd>;
}

export interface ForkEnd {
  /** The first facts that only the fork has. */
  readonly facts: readonly EventRecord[];
  readonly state: SessionState;
  /** Transcript pages that the facts sealed; they must be stored as blobs before the facts. */
  readonly sealed: readonly string[];
}

export function newForker(order: ForkOrder): Forker {
  const source = newReplayer();
  let genesis: Genesis | null = null;
  let chain: Digest | null = null;

  function verified(record: StreamRecord): Either<Rejection, SessionState> {
    if (source.add(record)) {
      const { state } = source.result();
      invariant(state !== null, 'an accepted record leads to a state');
      return right(state);
    }
    const { divergence } = source.result();
    return left(reject('damaged', '', `the source, at position ${divergence?.position}: ${divergence?.message}`));
  }

  /** The source's state with the two fields that name the stream replaced; its parts, with their digests, are shared. */
  const renamed = (state: SessionState, of: Genesis): SessionState =>
    Object.freeze({ ...state, session_id: of.session_id, genesis_digest: digestJson(of) });

  function addGenesis(record: GenesisRecord, state: SessionState): StreamRecord {
    const forked = forkedGenesis(record.genesis, order);
    genesis = forked;
    chain = genesisChain(forked);
    return { kind: 'genesis', format: 1, genesis: forked, state_digest: stateDigest(renamed(state, forked)), chain };
  }

  return {
    add(record) {
      const taken = verified(record);
      if (isLeft(taken)) return taken;
      if (record.kind === 'genesis') return right(addGenesis(record, taken.right));
      invariant(genesis !== null && chain !== null, 'a genesis record comes first');
      const state_digest = stateDigest(renamed(taken.right, genesis));
      chain = nextChain(chain, record.event_digest, state_digest);
      return right({ ...record, state_digest, chain });
    },
    finish() {
      const { state, events, chain: head } = source.result();
      if (state === null || genesis === null || chain === null || events !== order.at) {
        return left(
          reject('position_unknown', '/at', `the source has ${events} events, so it cannot be forked at ${order.at}`),
        );
      }
      if (head !== order.chain) {
        const message = `the chain value of the source at ${order.at} is ${head}, not ${order.chain}`;
        return left(reject('damaged', '', message));
      }
      return right(settleFork(renamed(state, genesis), chain, order));
    },
  };
}

/** The genesis record of a fork: that of its source, with another session id and `forked_from`. */
export const forkedGenesis = (
  genesis: Genesis,
  { session_id, at, chain }: Pick<ForkOrder, 'session_id' | 'at' | 'chain'>,
): Genesis => ({
  ...genesis,
  session_id,
  forked_from: { session_id: genesis.session_id, position: at as Position, chain },
});

/** Adds the facts that make the fork independent of the bridges of its source. */
function settleFork(from: SessionState, chainBefore: Digest, order: ForkOrder): ForkEnd {
  const facts: EventRecord[] = [];
  const sealed: string[] = [];
  let state = from;
  let chain = chainBefore;
  for (let fact = nextFact(state, order); fact !== null; fact = nextFact(state, order)) {
    const envelope = {
      v: EVENT_VERSION,
      event_id: brand<'EventId'>(`fork-${order.at}-${order.chain.slice(7, 23)}-${facts.length + 1}`),
      at_ms: Math.max(state.updated_at_ms, order.at_ms),
    };
    const event = { ...fact, ...envelope } as IngressEvent;
    const stepped = step(state, event);
    invariant(!isLeft(stepped), `a fork settles what its state holds: ${isLeft(stepped) ? stepped.left.message : ''}`);
    const { state: next, stateDigest: state_digest, sealed: page } = stepped.right;
    if (page !== null) sealed.push(page.text);
    const event_digest = eventDigest(event);
    chain = nextChain(chain, event_digest, state_digest);
    facts.push({
      kind: 'event',
      position: state.version as number as Position,
      event,
      event_digest,
      state_digest,
      chain,
    });
    state = next;
  }
  return { facts, state, sealed };
}

type FactKind = 'LeaseExpired' | 'ToolCallSettled' | 'UndoSettled' | 'RunPaused' | 'RunCancelled';
type Fact = Extract<Ingress, { readonly kind: FactKind }>;

/**
 * The next fact that the fork must record before a bridge may work for it; null when it is independent. The source's
 * bridge runs the running calls and never reports to the fork: as after any lost bridge, a repeatable call is queued
 * again and the outcome of any other is unknown. The source may also run its queued calls, so a call that must not run
 * twice is answered here instead of being run, and so is an undo. Questions to people stay open: a person answers them
 * for each session.
 */
function nextFact(state: SessionState, order: ForkOrder): Fact | null {
  const { run, active_tool_batch: batch } = state;
  const takes = (kind: 'RunPaused' | 'RunCancelled'): boolean => transitionsOf(phaseOf(state), kind) !== null;
  if (run !== null && order.run === 'end' && takes('RunCancelled')) {
    return { kind: 'RunCancelled', run_id: run.run_id, reason: `forked after ${order.at} events` };
  }
  // Pause first: a bridge must not work for a fork that was stored only in part.
  if (run !== null && order.run === 'pause' && takes('RunPaused')) return { kind: 'RunPaused', run_id: run.run_id };
  const [undo] = state.undos ?? [];
  if (undo !== undefined) return refuseUndo(undo);
  return batch === null ? null : firstUnsettled(batch, order);
}

const refuseUndo = ({ position, batch_id, call_id }: PendingUndo): Fact => ({
  kind: 'UndoSettled',
  position,
  batch_id,
  call_id,
  success: false,
  code: 'forked',
  message: 'the session that this one was forked from was asked to undo it',
});

function firstUnsettled(batch: ActiveToolBatch, order: ForkOrder): Fact | null {
  const { batch_id, plan } = batch;
  for (const [position, { call_id }] of batch.observed.entries()) {
    const call = callStateAt(batch, position);
    if (call?.status === 'running') return { kind: 'LeaseExpired', batch_id, call_id, attempt: call.attempt };
    const planned = plannedOf(plan, call_id)?.call;
    if (call?.status !== 'queued' || planned?.repeatable === true || planned?.executor.kind === 'custom') continue;
    return answerUnrun({ batch_id, call_id, attempt: call.attempt, plan_hash: plan.plan_hash }, order);
  }
  return null;
}

type Unrun = Pick<EventOfKind<'ToolCallSettled'>, 'batch_id' | 'call_id' | 'attempt' | 'plan_hash'>;

const answerUnrun = (call: Unrun, { at }: ForkOrder): Fact => ({
  kind: 'ToolCallSettled',
  ...call,
  outcome: 'cancelled',
  code: 'forked',
  // A result with these flags does not end the run under any completion rule.
  result: { success: false, needsFollowup: true },
  output: {
    text:
      `error: forked: not run. This session was forked from another one after ${at} events, amid this batch, and the ` +
      'call may have run there. Look at the state of things before you make it again.',
  },
});

// A fork: a new stream with the first events of another one, and a life of its own from there (DESIGN section 3,
// `forked_from`). The events are the source's, byte for byte; the digests are the fork's, because its genesis record
// says whose fork it is. Pure: reading the source and writing the fork is the caller's work.
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
  /** What becomes of a run that is live there. */
  readonly run: ForkedRun;
  /** When it was forked; the facts that are the fork's own are not older than this. */
  readonly at_ms: number;
}

/** Takes the source's records from its genesis on, and gives the fork's. */
export interface Forker {
  /** The fork's record for the next one of the source; `damaged` where the source does not verify. */
  add(record: StreamRecord): Either<Rejection, StreamRecord>;
  /** What follows the shared events. Refused before all of those are there. */
  finish(): Either<Rejection, ForkEnd>;
}

export interface ForkEnd {
  /** The fork's own first facts. */
  readonly facts: readonly EventRecord[];
  readonly state: SessionState;
  /** Transcript pages that the facts sealed: to be kept as blobs before the facts are. */
  readonly sealed: readonly string[];
}

export function newForker(order: ForkOrder): Forker {
  const source = newReplayer();
  let genesis: Genesis | null = null;
  let chain: Digest | null = null;

  function verified(record: StreamRecord): Either<Rejection, SessionState> {
    if (source.add(record)) {
      const { state } = source.result();
      invariant(state !== null, 'a record that was taken leads to a state');
      return right(state);
    }
    const { divergence } = source.result();
    return left(reject('damaged', '', `the source, position ${divergence?.position}: ${divergence?.message}`));
  }

  /** The state is the source's but for the two fields that name the stream, and so are the digests below it. */
  const own = (state: SessionState, of: Genesis): SessionState =>
    Object.freeze({ ...state, session_id: of.session_id, genesis_digest: digestJson(of) });

  function addGenesis(record: GenesisRecord, state: SessionState): StreamRecord {
    const forked = forkedGenesis(record.genesis, order);
    genesis = forked;
    chain = genesisChain(forked);
    return { kind: 'genesis', format: 1, genesis: forked, state_digest: stateDigest(own(state, forked)), chain };
  }

  return {
    add(record) {
      const taken = verified(record);
      if (isLeft(taken)) return taken;
      if (record.kind === 'genesis') return right(addGenesis(record, taken.right));
      invariant(genesis !== null && chain !== null, 'a genesis record comes first');
      const state_digest = stateDigest(own(taken.right, genesis));
      chain = nextChain(chain, record.event_digest, state_digest);
      return right({ ...record, state_digest, chain });
    },
    finish() {
      const { state, events, chain: head } = source.result();
      if (state === null || genesis === null || chain === null || events !== order.at) {
        return left(
          reject('position_unknown', '/at', `there are ${events} events, so there is no fork at ${order.at}`),
        );
      }
      if (head !== order.chain) return left(reject('damaged', '', `the source has another chain value at ${order.at}`));
      return right(settleFork(own(state, genesis), chain, order));
    },
  };
}

/** The genesis record of a fork: its source's, under another name and with its provenance. */
export const forkedGenesis = (
  genesis: Genesis,
  { session_id, at, chain }: Pick<ForkOrder, 'session_id' | 'at' | 'chain'>,
): Genesis => ({
  ...genesis,
  session_id,
  forked_from: { session_id: genesis.session_id, position: at as Position, chain },
});

/** Adds the facts that make the fork independent of whoever works for its source. */
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
 * What the fork has to record next before anybody may work for it; null when it stands on its own. A call that runs
 * is run by the source's bridge, which will never report to the fork: as after any lost bridge it waits again when it
 * may be repeated, and is of unknown outcome when not. A call that waits is the source's to run as well, so that one
 * which may not run twice is answered here instead of being run; the same holds for an undo. What waits for a person
 * goes on waiting: they are asked for each session, and answer for each.
 */
function nextFact(state: SessionState, order: ForkOrder): Fact | null {
  const { run, active_tool_batch: batch } = state;
  const takes = (kind: 'RunPaused' | 'RunCancelled'): boolean => transitionsOf(phaseOf(state), kind) !== null;
  if (run !== null && order.run === 'end' && takes('RunCancelled')) {
    return { kind: 'RunCancelled', run_id: run.run_id, reason: `forked after ${order.at} events` };
  }
  // Paused first: a fork that is cut off while it is stored must not be worked for.
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
  // A cancelled call ends no run, whatever its completion rule.
  result: { success: false, needsFollowup: true },
  output: {
    text:
      `error: forked: not run. This session was forked from another one after ${at} events, amid this batch, and the ` +
      'call may have run there. Look at the state of things before you make it again.',
  },
});

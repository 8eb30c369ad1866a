// A fork: a new stream with the first events of another one, independent from there on. The shared events are equal byte
// for byte, and grouped into the same commits; the shared events of a commit that goes on beyond the fork are committed anew,
// together with the fork's own first facts. The digests differ, because the genesis record of the fork names its source
// (`forked_from`). Pure: the caller reads the source and writes the fork.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { inOrder } from '../../../reducers/next-state.ts';
import { rulesOf } from '../../../reducers/rules/known-rules.ts';
import { codedText, ruleText } from '../../../reducers/rules/rule-set.ts';
import { digestJson } from '../../../schemas/canonical.ts';
import type { Genesis } from '../../../schemas/genesis.ts';
import type { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import { type CommitRecord, type GenesisRecord, type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import { type Rejection, reject, invariant } from '../../../schemas/rejection.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { RecordedEvent } from '../../../schemas/upcast.ts';
import type { ForkedRun } from '../../../schemas/wire.ts';
import { genesisChain } from '../chain.ts';
import { grantsFact, isAllowed, owesAllowedCall, owesChangedCalls, takesFact, unmadeFact } from './given.ts';
import { type OwnCommits, type OwnFact, type StreamHead, copiedCommit, commitOwnFacts } from './own-facts.ts';
import { newReplayer } from '../replay.ts';
import { stateDigest } from '../state-digest.ts';

export interface ForkOrder {
  /** The new stream. */
  readonly session_id: SessionId;
  /** How many events it shares with its source. */
  readonly at: number;
  /** The source's chain value after the last commit that is shared whole. */
  readonly chain: Digest;
  /** What happens to a run that is live there. */
  readonly run: ForkedRun;
  /** The time of the fork; the fork's own facts are not older. */
  readonly at_ms: number;
}

/** Takes the records of the source from the first one on, and returns those of the fork. */
export interface Forker {
  /**
   * The fork's record for the next one of the source; null for a commit that is not shared whole, whose first events come
   * with `finish`. `damaged` when the source does not verify.
   */
  add(record: StreamRecord): Either<Rejection, StreamRecord | null>;
  /** What follows the whole commits. Refused before all shared events were added. */
  finish(): Either<Rejection, ForkEnd>;
}

export type ForkEnd = OwnCommits;

export function newForker(order: ForkOrder): Forker {
  let stateAt: SessionState | null = null;
  const source = newReplayer(({ position, after }) => {
    if (position === order.at - 1) stateAt = after;
  });
  let genesis: Genesis | null = null;
  let head: StreamHead | null = null;
  let sourceChain: Digest | null = null;
  let split: readonly RecordedEvent[] = [];

  /** The source's state with the fields that name the stream replaced; its parts, with their digests, are shared. */
  const renamed = (state: SessionState, of: Genesis): SessionState => {
    const parent = of.forked_from?.session_id ?? state.session_id;
    return Object.freeze(inOrder({ ...state, session_id: of.session_id, genesis_digest: digestJson(of), parent }));
  };

  function addGenesis(record: GenesisRecord, state: SessionState): StreamRecord {
    const forked = forkedGenesis(record.genesis, order);
    const initial = renamed(state, forked);
    const chain = genesisChain(initial);
    if (order.at === 0) stateAt = state;
    [genesis, head, sourceChain] = [forked, { version: 0, chain }, record.chain];
    return { kind: 'genesis', format: 2, genesis: forked, state_digest: stateDigest(initial), chain };
  }

  function addCommit(record: CommitRecord, state: SessionState): StreamRecord | null {
    invariant(genesis !== null && head !== null, 'a genesis record comes first');
    if (versionAfter(record) > order.at) {
      // Commits after the one that is split share nothing.
      if (record.position < order.at) split = record.events.slice(0, order.at - record.position);
      return null;
    }
    const commit = copiedCommit(head, record.events, renamed(state, genesis));
    head = { version: versionAfter(commit), chain: commit.chain };
    sourceChain = record.chain;
    return commit;
  }

  return {
    add(record) {
      if (!source.add(record)) {
        const { divergence } = source.result();
        return left(reject('damaged', '', `the source, at position ${divergence?.position}: ${divergence?.message}`));
      }
      if (record.kind === 'package') return right(record);
      const { state } = source.result();
      invariant(state !== null, 'an accepted record leads to a state');
      return right(record.kind === 'genesis' ? addGenesis(record, state) : addCommit(record, state));
    },
    finish() {
      const { events } = source.result();
      if (stateAt === null || genesis === null || head === null) {
        return left(
          reject('position_unknown', '/at', `the source has ${events} events, so it cannot be forked at ${order.at}`),
        );
      }
      if (sourceChain !== order.chain) {
        const message = `the chain value of the source at ${order.at} is ${sourceChain}, not ${order.chain}`;
        return left(reject('damaged', '', message));
      }
      return right(endFork({ state: renamed(stateAt, genesis), split }, head, order));
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

/** Where the fork stands at its position: the state there, and the shared events that no whole commit holds. */
interface ForkPoint {
  readonly state: SessionState;
  readonly split: readonly RecordedEvent[];
}

/** Commits the shared events of a split commit, and the facts that make the fork independent of the bridges of its source. */
function endFork({ state, split }: ForkPoint, head: StreamHead, order: ForkOrder): ForkEnd {
  const end = commitOwnFacts(
    { state, head, events: split },
    { name: `fork-${order.at}-${order.chain.slice(7, 23)}`, at_ms: order.at_ms },
    (now) => nextFact(now, order),
  );
  invariant(!isLeft(end), `a fork settles what its state holds: ${isLeft(end) ? end.left.message : ''}`);
  return end.right;
}

/**
 * The next fact that the fork must record before a bridge may work for it; null when it is independent. The source's
 * bridge runs the running calls and never reports to the fork: as after any lost bridge, a repeatable call is queued
 * again and the outcome of any other is unknown. The source may also run its queued calls, so a call that must not run
 * twice is answered here instead of being run, and so is an undo. What a person gave there counts there: a call that was
 * allowed and not made is not made here, and grants end. Questions to people stay open: a person answers them for each
 * session.
 */
function nextFact(state: SessionState, order: ForkOrder): OwnFact | null {
  return (
    runFact(state, order) ??
    undoFact(state) ??
    unmadeFact(state, {
      text: codedText(rulesOf(state), 'forked', { at: order.at }),
      makes: (planned, call) => (planned.repeatable || planned.executor.kind === 'custom') && !isAllowed(planned, call),
    }) ??
    (owesAllowedCall(state) ? endRun(state, 'forked.allowed', order) : null) ??
    grantsFact(state)
  );
}

function runFact(state: SessionState, order: ForkOrder): OwnFact | null {
  if (owesChangedCalls(state)) return endRun(state, 'forked.allowed', order);
  if (order.run === 'end') return endRun(state, 'forked.run', order);
  const { run } = state;
  // Pause first: a bridge must not work for a fork that was stored only in part.
  const pauses = run !== null && order.run === 'pause' && takesFact(state, 'RunPaused');
  return pauses ? { kind: 'RunPaused', run_id: run.run_id } : null;
}

/** Null when the run is ending already, or there is none. */
function endRun(state: SessionState, why: 'forked.run' | 'forked.allowed', { at }: ForkOrder): OwnFact | null {
  const { run } = state;
  if (run === null || !takesFact(state, 'RunCancelled')) return null;
  return { kind: 'RunCancelled', run_id: run.run_id, reason: ruleText(rulesOf(state), why, { at }) };
}

function undoFact(state: SessionState): OwnFact | null {
  const [undo] = state.undos ?? [];
  if (undo === undefined) return null;
  const { position, batch_id, call_id } = undo;
  const refusal = codedText(rulesOf(state), 'forked.undo', {});
  return { kind: 'UndoSettled', position, batch_id, call_id, success: false, ...refusal };
}

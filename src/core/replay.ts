// Replay: folds a recorded stream again and compares every digest with the recorded one (docs/design.md, law 1).
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SealedPage } from '../../reducers/transcript.ts';
import type { Digest, Position } from '../../schemas/ids.ts';
import type { GenesisRecord, StreamRecord } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import { eventDigest, genesisChain, nextChain } from './chain.ts';
import { checkGenesis, initialState } from './initial-state.ts';
import { stateDigest } from './state-digest.ts';
import { step } from './step.ts';

/** The first fault of a replay: its position (-1 is the genesis record) and how it differs from the record. */
export interface Divergence {
  readonly position: number;
  readonly what: 'record' | 'event' | 'event_digest' | 'state_digest' | 'chain';
  readonly message: string;
  readonly recorded?: string;
  readonly replayed?: string;
}

export interface Replay {
  /** The last state that agrees with the record. */
  readonly state: SessionState | null;
  readonly stateDigest: Digest | null;
  readonly chain: Digest | null;
  /** Events folded. */
  readonly events: number;
  /** Null when every digest agrees: the replay is byte-identical. */
  readonly divergence: Divergence | null;
}

/** Folds records one by one, so that a stream of any length needs the memory of one state. */
export interface Replayer {
  /** False when this record diverged; no further record is accepted. */
  add(record: StreamRecord): boolean;
  /** The transcript page that the last record sealed, a blob that the state refers to; null when it sealed none. */
  sealed(): SealedPage | null;
  result(): Replay;
}

export function newReplayer(): Replayer {
  let state: SessionState | null = null;
  let chain: Digest | null = null;
  let events = 0;
  let sealed: SealedPage | null = null;
  let divergence: Divergence | null = null;

  function diverge(what: Divergence['what'], message: string, pair: Partial<Divergence> = {}): boolean {
    divergence = { position: state === null ? -1 : events, what, message, ...pair };
    return false;
  }

  function differs(what: Divergence['what'], recorded: Digest, replayed: Digest): boolean {
    return recorded === replayed || diverge(what, `the ${what} differs`, { recorded, replayed });
  }

  function addGenesis(record: GenesisRecord): boolean {
    if (state !== null) return diverge('record', 'the stream has a second genesis record');
    const checked = checkGenesis(record.genesis);
    if (isLeft(checked)) return diverge('record', describe(checked.left));
    const initial = initialState(checked.right);
    const start = genesisChain(checked.right);
    if (!differs('chain', record.chain, start)) return false;
    if (!differs('state_digest', record.state_digest, stateDigest(initial))) return false;
    state = initial;
    chain = start;
    return true;
  }

  function addEvent(record: Extract<StreamRecord, { kind: 'event' }>): boolean {
    if (state === null || chain === null) return diverge('record', 'the stream does not begin with a genesis record');
    if (record.position !== (events as Position)) {
      return diverge('record', `the position is ${record.position}; it must be ${events}`);
    }
    const digest = eventDigest(record.event);
    if (!differs('event_digest', record.event_digest, digest)) return false;
    const stepped = step(state, record.event);
    if (isLeft(stepped)) return diverge('event', describe(stepped.left));
    if (!differs('state_digest', record.state_digest, stepped.right.stateDigest)) return false;
    const next = nextChain(chain, digest, stepped.right.stateDigest);
    if (!differs('chain', record.chain, next)) return false;
    ({ state, sealed } = stepped.right);
    chain = next;
    events += 1;
    return true;
  }

  return {
    add(record) {
      if (divergence !== null) return false;
      return record.kind === 'genesis' ? addGenesis(record) : addEvent(record);
    },
    sealed: () => sealed,
    result() {
      if (state === null && divergence === null) diverge('record', 'the stream is empty');
      return { state, stateDigest: state === null ? null : stateDigest(state), chain, events, divergence };
    },
  };
}

const describe = ({ code, path, message }: Rejection): string => `${code} at "${path}": ${message}`;

/** Replays a whole stream: the genesis record, then its events. */
export function replay(records: Iterable<StreamRecord>): Replay {
  const replayer = newReplayer();
  for (const record of records) if (!replayer.add(record)) break;
  return replayer.result();
}

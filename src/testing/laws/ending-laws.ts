// Laws checked at the end of a simulation: after the last fault every run ends and nothing that the engine accepted is
// lost. Also replays whole streams.
import { nextDeadline } from '../../../reducers/deadlines.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { genesisChain } from '../../core/chain.ts';
import { replay } from '../../core/replay.ts';
import { stateBytes, stateDigest } from '../../core/state-digest.ts';
import type { StoredSession } from './stored-session.ts';
import type { Judge } from './judge.ts';

/** True when the session owes nothing at this time of the engine. */
export function isIdle(stored: StoredSession, nowMs: number): boolean {
  const state = stored.state();
  return state.run === null && state.undos === undefined && (nextDeadline(state) ?? Infinity) > nowMs;
}

export function checkIdle(id: SessionId, stored: StoredSession, judge: Judge): void {
  const { run, undos: [undo] = [] } = stored.state();
  if (run !== null) judge.fail('every run ends', `${id}: ${run.run_id} is ${run.phase}`);
  else if (undo === undefined) judge.fail('every run ends', `${id}: its wake-up did not happen`);
  else judge.fail('undone once', `${id}: ${undo.call_id} was never undone`);
}

/** Every run that was requested has started or waits. */
export function checkNothingLost(id: SessionId, stored: StoredSession, judge: Judge): void {
  const { runs_started, follow_ups } = stored.state();
  const asked = stored.events.filter(({ kind }) => kind === 'RunRequested' || kind === 'FollowUpQueued').length;
  const kept = runs_started + follow_ups.length;
  judge.check(
    asked === kept,
    'nothing is lost',
    () => `${id}: ${asked} runs were requested, ${kept} have started or wait`,
  );
}

/**
 * Replays a whole stream, which was folded event by event before, and also compares the bytes of the state. The digests
 * were compared as the events became durable; this finds faults that two folds at about the same time share: a cached
 * digest of another state, or a fold that depends on what this process folded before.
 */
export function checkReplay(id: SessionId, stored: StoredSession, judge: Judge): void {
  const { divergence, state } = replay(recordsOf(stored));
  judge.check(divergence === null, 'replay identity', () => `${id}: ${divergence?.message} at ${divergence?.position}`);
  const same = state !== null && Buffer.compare(stateBytes(state), stateBytes(stored.state())) === 0;
  judge.check(
    same,
    'replay identity',
    () => `${id}: the replayed state differs in bytes from the state folded event by event`,
  );
}

function* recordsOf({ genesis, records, states }: StoredSession): Generator<StreamRecord> {
  const state_digest = stateDigest(states[0] as SessionState);
  yield { kind: 'genesis', format: 1, genesis, state_digest, chain: genesisChain(genesis) };
  for (const [index, { event, state_digest, chain }] of records.entries()) {
    const position = index as Position;
    const parsed = JSON.parse(event) as IngressEvent;
    yield { kind: 'event', position, event: parsed, event_digest: digestText(event), state_digest, chain };
  }
}

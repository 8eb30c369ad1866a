// Laws checked at the end of a simulation: after the last fault every run ends and nothing that the engine accepted is
// lost. Also judges and replays whole streams.
import { nextDeadline } from '../../../reducers/deadlines.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { replay } from '../../core/replay.ts';
import { stateBytes } from '../../core/state-digest.ts';
import type { LawOnRecord } from '../../core/laws/breach.ts';
import { type StoredSession, recordsOf } from './stored-session.ts';
import type { Judge } from './judge.ts';
import type { Law } from './laws.ts';

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

/** The law of the engine that a breach on record is one of. */
const LAW_OF: Readonly<Record<LawOnRecord, Law>> = {
  plan_kept: 'only the plan runs',
  one_result_in_call_order: 'pairing',
  answered_by_digest: 'approvals bound',
  began_once: 'runs at most once',
  deny_won: 'deny wins',
  run_goes_on: 'every run ends',
  questions_kept: 'no question is lost',
  noted_work_awaited: 'noted work is awaited',
  // What a person approves is named by the digest of its arguments.
  measured_as_recorded: 'approvals bound',
};

/** The record alone shows no breach, to a check that does not ask the fold what is allowed. */
export function checkOnRecord(id: SessionId, stored: StoredSession, judge: Judge): void {
  for (const { law, position, against, message } of stored.onRecord.breaches()) {
    judge.fail(LAW_OF[law], `${id}, events ${against} and ${position}: ${message}`);
  }
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

// Laws of the end: once nothing goes wrong any more, every run ends, nothing that was taken is lost, and the streams
// fold again to the same bytes.
import { isLeft } from 'fp-ts/lib/Either.js';
import { hostSessionDeadline } from '../../../reducers/host-session.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import { stateBytes } from '../../core/state-digest.ts';
import { replay } from '../../core/replay.ts';
import { eventRecords, genesisRecord } from '../../engine/records.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Book } from './book.ts';
import type { Judge } from './judge.ts';

/** True when nothing is left to happen in this session, at this time of the engine. */
export function isAtRest(book: Book, nowMs: number): boolean {
  const state = book.state();
  return state.run === null && (hostSessionDeadline(state) ?? Infinity) > nowMs;
}

export function checkRest(id: SessionId, book: Book, judge: Judge): void {
  const { run } = book.state();
  judge.fail('every run ends', run === null ? `${id}: its wake did not come` : `${id}: ${run.run_id} is ${run.phase}`);
}

/** Every run that was asked for has begun, or waits. */
export function checkNothingLost(id: SessionId, book: Book, judge: Judge): void {
  const { runs_started, follow_ups } = book.state();
  const asked = book.events.filter(({ kind }) => kind === 'RunRequested' || kind === 'FollowUpQueued').length;
  const there = runs_started + follow_ups.length;
  judge.hold(asked === there, 'nothing is lost', () => `${id}: ${asked} runs were asked for, ${there} have begun or wait`);
}

/** Reads the stream back as it is stored, folds it a second time, and compares the bytes. */
export async function checkReplay(id: SessionId, book: Book, { journal, judge }: { journal: Journal; judge: Judge }): Promise<void> {
  const genesis = await genesisRecord(journal, id);
  const events = await eventRecords(journal, id, 0 as Position, book.events.length + 1);
  if (isLeft(genesis) || isLeft(events)) {
    judge.fail('replay identity', `${id} cannot be read back`);
    return;
  }
  const { divergence, state } = replay([genesis.right, ...events.right]);
  judge.hold(divergence === null, 'replay identity', () => `${id}: ${divergence?.message} at ${divergence?.position}`);
  const same = state !== null && Buffer.compare(stateBytes(state), stateBytes(book.state())) === 0;
  judge.hold(same, 'replay identity', () => `${id}: the second fold has other bytes than the first`);
}

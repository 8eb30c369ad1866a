// Laws of the end: once nothing goes wrong any more, every run ends and nothing that was taken is lost; and the replay of
// whole streams.
import { nextDeadline } from '../../../reducers/deadlines.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import type { StreamRecord } from '../../../schemas/record.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { genesisChain } from '../../core/chain.ts';
import { replay } from '../../core/replay.ts';
import { stateBytes, stateDigest } from '../../core/state-digest.ts';
import type { Book } from './book.ts';
import type { Judge } from './judge.ts';

/** True when nothing is left to happen in this session, at this time of the engine. */
export function isAtRest(book: Book, nowMs: number): boolean {
  const state = book.state();
  return state.run === null && state.undos === undefined && (nextDeadline(state) ?? Infinity) > nowMs;
}

export function checkRest(id: SessionId, book: Book, judge: Judge): void {
  const { run, undos: [undo] = [] } = book.state();
  if (run !== null) judge.fail('every run ends', `${id}: ${run.run_id} is ${run.phase}`);
  else if (undo === undefined) judge.fail('every run ends', `${id}: its wake did not come`);
  else judge.fail('undone once', `${id}: ${undo.call_id} is never undone`);
}

/** Every run that was asked for has begun, or waits. */
export function checkNothingLost(id: SessionId, book: Book, judge: Judge): void {
  const { runs_started, follow_ups } = book.state();
  const asked = book.events.filter(({ kind }) => kind === 'RunRequested' || kind === 'FollowUpQueued').length;
  const there = runs_started + follow_ups.length;
  judge.hold(
    asked === there,
    'nothing is lost',
    () => `${id}: ${asked} runs were asked for, ${there} have begun or wait`,
  );
}

/**
 * Replays a whole stream, which its book has folded step by step, and compares the flat bytes as well. Every digest was
 * checked as it became durable; this finds what two folds at about the same time have in common by accident: a digest
 * that was remembered of something else, or a fold that depends on what this process has folded before.
 */
export function checkReplay(id: SessionId, book: Book, judge: Judge): void {
  const { divergence, state } = replay(recordsOf(book));
  judge.hold(divergence === null, 'replay identity', () => `${id}: ${divergence?.message} at ${divergence?.position}`);
  const same = state !== null && Buffer.compare(stateBytes(state), stateBytes(book.state())) === 0;
  judge.hold(same, 'replay identity', () => `${id}: the replay has other bytes than the fold beside the engine`);
}

function* recordsOf({ genesis, records, states }: Book): Generator<StreamRecord> {
  const state_digest = stateDigest(states[0] as SessionState);
  yield { kind: 'genesis', format: 1, genesis, state_digest, chain: genesisChain(genesis) };
  for (const [index, { event, state_digest, chain }] of records.entries()) {
    const position = index as Position;
    const parsed = JSON.parse(event) as IngressEvent;
    yield { kind: 'event', position, event: parsed, event_digest: digestText(event), state_digest, chain };
  }
}

// What the head of a journal states of a session, compared with a simple reference that derives every effect.
import { describe, expect, test } from 'vitest';
import { CARD_BYTES_MAX } from '../../schemas/limits.ts';
import { HeadFacts } from '../../schemas/session-head.ts';
import type { SessionState } from '../../schemas/state.ts';
import { effects } from '../../src/core/index.ts';
import { headFacts } from '../../src/core/session-head.ts';
import { isPersonEffect, requiredActions, sessionStatus } from '../../src/core/status.ts';
import { roundsOf } from '../support/random.ts';
import { walk } from '../support/streams.ts';

/** An effect for a bridge is owed, or a call runs. */
const owes = (state: SessionState): boolean =>
  effects(state).some((effect) => effect.kind !== 'wake' && !isPersonEffect(effect)) ||
  state.detached !== undefined ||
  (state.active_tool_batch?.pages ?? []).flat().some(({ status }) => status === 'running');

function statusOf(state: SessionState): string {
  const all = effects(state);
  if (state.run === null) return 'idle';
  if (all.some(isPersonEffect)) return 'requires_action';
  if (state.run.phase.startsWith('paused_')) return 'paused';
  return !owes(state) && all.some(({ kind }) => kind === 'wake') ? 'waiting' : 'running';
}

describe('the head of any stream', () => {
  test('states what it owes, its next time, and its status, after each event and again for an earlier state', () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= roundsOf(18, 2_000); seed += 1) {
      walk(seed, 120, (before, event, after) => {
        if (after === null) return;
        for (const { state } of [after, before, after]) {
          const facts = headFacts(state);
          const wake = effects(state).find((effect) => effect.kind === 'wake');
          const at = `${event.kind} at ${after.events.length}`;
          expect(
            { owing: facts.owing, wake: facts.wake_at_ms, status: facts.card.status },
            `seed ${seed}, ${at}`,
          ).toEqual({
            owing: owes(state),
            wake: wake?.at_ms ?? null,
            status: statusOf(state),
          });
          expect(sessionStatus(state).status, `seed ${seed}, ${at}`).toBe(facts.card.status);
          expect(HeadFacts.is(facts), `seed ${seed}, ${at}`).toBe(true);
          expect(Buffer.byteLength(JSON.stringify(facts.card)), `seed ${seed}, ${at}`).toBeLessThanOrEqual(
            CARD_BYTES_MAX,
          );
          seen.add(`${facts.card.status} ${facts.owing}${requiredActions(state).length > 0 ? ' asks' : ''}`);
        }
      });
    }
    // Every status occurs, and those of a live run both with and without work for a bridge.
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        'idle false',
        'paused false',
        'requires_action false asks',
        'requires_action true asks',
        'running true',
        'waiting false',
      ]),
    );
  });
});

// The owed effects of a session, kept up to date event by event, equal those derived from its state
// (docs/design.md, law 2).
import { expect, test } from 'vitest';
import { effects } from '../../src/core/index.ts';
import { isPersonEffect } from '../../src/core/status.ts';
import type { Effect } from '../../schemas/index.ts';
import { OwedEffects } from '../../src/engine/leases/owed-effects.ts';
import { roundsOf } from '../support/random.ts';
import type { Session } from '../support/session.ts';
import { walk } from '../support/streams.ts';

const textOf = (effect: Effect, after: readonly string[]): string => `${effect.effect_id} after ${after.join(' ')}`;

const derived = ({ state }: Session): readonly string[] =>
  effects(state)
    .filter((effect) => effect.kind !== 'wake' && !isPersonEffect(effect))
    .map((effect) => textOf(effect, effect.kind === 'tool.call' ? effect.after : []));

const kept = (owed: OwedEffects): readonly string[] =>
  Array.from(owed.list(), (effect) => textOf(effect, effect.kind === 'tool.call' ? owed.openAfter(effect) : []));

test('the owed effects of any stream equal those of its state', () => {
  let waitedToRetry = 0;
  for (let seed = 1; seed <= roundsOf(35, 1_500); seed += 1) {
    let owed: OwedEffects | null = null;
    walk(seed, 120, (before, event, after) => {
      if (after === null) return;
      owed ??= new OwedEffects(before.state);
      owed.list();
      owed.update(after.state, [event]);
      expect(kept(owed), `seed ${seed}, ${event.kind} at ${after.events.length}`).toEqual(derived(after));
      if (after.state.active_tool_batch?.pages.flat().some((call) => call.not_before_ms !== undefined))
        waitedToRetry += 1;
    });
  }
  expect(waitedToRetry).toBeGreaterThan(0);
});

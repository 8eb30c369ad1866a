// The laws (DESIGN section 2) over random streams of plausible and senseless facts.
import { isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { Effect, type Json, SessionState, decode, limits } from '../../schemas/index.ts';
import { computeEffectiveTools, effects, stateBytes, stateDigest, step } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';
import { referenceStateDigest } from '../support/reference-digest.ts';
import { fold, textOf } from '../support/session.ts';
import { walk } from '../support/streams.ts';

const SEEDS = Array.from({ length: roundsOf(40) }, (_, index) => index + 1);
const LENGTH = 120;

const roundTrip = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

describe('random streams', () => {
  test('are mostly taken, and partly refused: they prove something', () => {
    const walks = SEEDS.map((seed) => walk(seed, LENGTH));
    const refused = walks.reduce((sum, walked) => sum + walked.refused, 0);
    const share = refused / (SEEDS.length * LENGTH);
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.8);
    const kinds = new Set(walks.flatMap(({ session }) => session.events.map((event) => event.kind)));
    expect(kinds.size).toBeGreaterThan(16);
  });

  test('1. replay identity: the same events, read from text, give the same bytes', () => {
    for (const seed of SEEDS) {
      const { session } = walk(seed, LENGTH);
      const again = fold(roundTrip(session.genesis), roundTrip(session.events));
      expect(stateBytes(again)).toEqual(stateBytes(session.state));
      expect(stateDigest(again)).toBe(stateDigest(session.state));
    }
  });

  test('1. and from any state on the way, as a snapshot would', () => {
    for (const seed of SEEDS.slice(0, 10)) {
      const { session } = walk(seed, 60);
      let half = roundTrip(fold(session.genesis, session.events.slice(0, 20)));
      for (const event of session.events.slice(20)) {
        const stepped = step(half, event);
        if (!isRight(stepped)) throw new Error(stepped.left.message);
        half = stepped.right.state;
      }
      expect(textOf(half)).toBe(textOf(session.state));
    }
  });

  test('2. effects come from state alone: asked twice, and of a copy of the state, they are the same', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        const owed = effects(after.state);
        expect(effects(roundTrip(after.state))).toEqual(owed);
        expect(new Set(owed.map((effect) => effect.effect_id)).size).toBe(owed.length);
        for (const effect of owed) expect(isRight(decode(Effect, roundTrip(effect)))).toBe(true);
      });
    }
  });

  test('4. a report that was taken is refused when it comes again, with the same state', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, event, after) => {
        if (after === null || !['ToolCallSettled', 'ToolBatchSettled', 'ToolCallStarted'].includes(event.kind)) return;
        expect(step(after.state, event)._tag).toBe('Left');
      });
    }
  });

  test('5. whatever happens, every call in the transcript is followed by its one result', () => {
    for (const seed of SEEDS) {
      const { session } = walk(seed, LENGTH);
      const { open } = session.state.transcript;
      const asked = open.flatMap((entry, index) =>
        (entry.calls ?? []).map((made) => [index, made.call_id as string] as const),
      );
      const stillOpen =
        session.state.active_tool_batch === null
          ? 0
          : (open.findLast((entry) => entry.calls !== undefined)?.calls?.length ?? 0);
      const closed = asked.slice(0, asked.length - stillOpen);
      const results = open.filter((entry) => entry.role === 'tool').map((entry) => entry.call_id as string);
      expect(results).toEqual(closed.map(([, id]) => id));
    }
  });

  test('6. no denied tool is effective, no unavailable one either', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        for (const verdict of after?.state.effective_tools.verdicts ?? []) {
          const out = verdict.reasons.some((reason) =>
            /^disabled_by|not_ready$|missing$|^not_in_profile$/.test(reason),
          );
          expect(verdict.effective).toBe(!out);
        }
      });
    }
  });

  test('effective tools are never stale', () => {
    for (const seed of SEEDS.slice(0, 15)) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        const fresh = computeEffectiveTools(after.state);
        expect(isRight(fresh) && fresh.right).toEqual(after.state.effective_tools);
      });
    }
  });

  test('every state is what its codec says, and its digest what its definition says', () => {
    for (const seed of SEEDS.slice(0, 10)) {
      walk(seed, 60, (_, __, after) => {
        if (after === null) return;
        const copy = roundTrip(after.state) as unknown as Json;
        expect(decode(SessionState, copy)).toMatchObject({ _tag: 'Right' });
        expect(stateDigest(after.state)).toBe(referenceStateDigest(copy));
      });
    }
  });

  test('a refused event leaves the very same state, whatever was wrong with it', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (before, event, after) => {
        if (after !== null) return;
        const bytes = textOf(before.state);
        const stepped = step(before.state, event);
        expect(stepped).toMatchObject({ _tag: 'Left', left: { code: expect.any(String), path: expect.any(String) } });
        expect(textOf(before.state)).toBe(bytes);
      });
    }
  });
});

test('7. bounded: a session of 200 runs weighs what one of 40 runs does', () => {
  const sizes = [40, 200].map((runs) => {
    let now = walk(1, 0).session;
    for (let run = 0; run < runs; run += 1) {
      now = now
        .runRequested()
        .observed([{ call_id: 'a', tool_name: 'free', arguments: { run: run % 10 } } as never])
        .batchDone()
        .answered('done');
    }
    return {
      bytes: stateBytes(now.state).length,
      history: now.state.run_history.length,
      open: now.state.transcript.open.length,
      sealed: now.state.transcript.sealed.length,
    };
  });
  const [small, large] = sizes as [(typeof sizes)[number], (typeof sizes)[number]];
  expect(small.history).toBe(limits.RUN_HISTORY_MAX);
  expect(large.history).toBe(limits.RUN_HISTORY_MAX);
  // What still differs is one digest for each sealed page of the window, which is bounded too, and the open page.
  expect(large.sealed).toBeGreaterThan(small.sealed);
  expect(large.bytes - small.bytes).toBeLessThan(80 * (large.sealed - small.sealed) + 64 * 400);
});

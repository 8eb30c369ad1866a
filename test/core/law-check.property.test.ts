// The judge of a recorded log finds every breach that is planted in a random lawful stream, with both positions, and nothing
// in the stream itself.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conflictBetween } from '../../src/core/index.ts';
import { unorderedIn } from '../../src/core/laws/conflicts.ts';
import type { ToolBatchPlan } from '../../schemas/index.ts';
import { PLANTS } from '../support/laws/planted.ts';
import { findings, judge, lawful } from '../support/laws/recorded.ts';
import { roundsOf } from '../support/random.ts';

const LENGTH = 160;
/** Places in one stream at which a breach of one kind is planted. */
const PLACES_MAX = 3;

const streams = Array.from({ length: roundsOf(8, 300) }, (_, index) => lawful(index + 1, LENGTH));

test('nothing is found in lawful streams', () => {
  for (const { folded } of streams) expect(judge(folded)).toEqual([]);
});

describe('the check finds, with both positions, that', () => {
  test.each(Object.entries(PLANTS))('%s', (_name, plant) => {
    let planted = 0;
    for (const stream of streams) {
      for (const { fold, due } of plant(stream).slice(0, PLACES_MAX)) {
        planted += 1;
        expect(findings(fold())).toContainEqual(expect.objectContaining(due));
      }
    }
    expect(planted, 'places at which the breach was planted').toBeGreaterThan(10);
  });
});

const claim = fc.record({
  key: fc.constantFrom('', '/', 'fs', 'fs/a', 'fs/a/b', 'fs/a/', 'fs/ab', 'fs/b', 'queue'),
  access: fc.constantFrom('read' as const, 'write' as const),
});
const side = fc.record({
  parallel_safe: fc.nat(9).map((one) => one > 0),
  claims: fc.array(claim, { maxLength: 3 }),
  after: fc.array(fc.nat(7), { maxLength: 2 }),
});

test('in any plan, the calls without an order are those that conflict and do not wait for each other, pair by pair', () => {
  const holds = (sides: readonly (typeof side extends fc.Arbitrary<infer Side> ? Side : never)[]): void => {
    const calls = sides.map(({ parallel_safe, claims }, index) => ({ call_id: `c${index}`, parallel_safe, claims }));
    const waits = sides.map(({ after }, index) => after.filter((earlier) => earlier < index));
    const reaches = (late: number, early: number): boolean =>
      waits[late]?.some((one) => one === early || reaches(one, early)) === true;
    const due = calls.flatMap((late, index) => {
      const free = calls.findIndex(
        (early, at) => at < index && conflictBetween(early, late) !== null && !reaches(index, at),
      );
      return free === -1 ? [] : [`"c${free}" and "c${index}" conflict, and neither waits for the other`];
    });
    const after = Object.fromEntries(waits.map((earlier, index) => [`c${index}`, earlier.map((one) => `c${one}`)]));
    const plan = { planned_calls: calls, execution_plan: { groups: [], after } } as unknown as ToolBatchPlan;
    expect(unorderedIn(plan)).toEqual(due);
  };
  fc.assert(fc.property(fc.array(side, { maxLength: 8 }), holds), { numRuns: roundsOf(75, 20_000) });
});

// Compares the planner with the deliberately simple reference on random batches: a fast loop for many, fast-check for
// small counterexamples.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Claim, type ToolBatchPlan, type ToolCallObserved, brand } from '../../schemas/index.ts';
import { planBatch } from '../../src/core/index.ts';
import { PATHS, batchTools, randomBatch } from '../support/batches.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import {
  type ReferencePlan,
  conflictsOf,
  levelsOf,
  reachOf,
  reductionOf,
  referencePlan,
} from '../support/reference-planner.ts';
import { call } from '../support/session.ts';
import { FREE } from '../support/tools.ts';

const TOOLS = batchTools();
const WITHOUT_TOPIC = batchTools(['topic', 'free']);

const inShort = (plan: ToolBatchPlan): ReferencePlan => ({
  planned: plan.planned_calls.map(({ call_id }) => call_id),
  rejected: plan.rejected.map(({ index, code }) => `${index} ${code}`),
  groups: plan.execution_plan.groups,
  after: plan.execution_plan.after,
});

describe('the planner agrees with the reference', () => {
  test('on random batches of paths, patches, barriers, duplicates and refusals', () => {
    const random = randomFrom(1);
    for (let round = 0; round < roundsOf(1_500, 160_000); round += 1) {
      const batch = randomBatch(random, random.oneIn(20) ? 40 : 9);
      const tools = random.oneIn(4) ? WITHOUT_TOPIC : TOOLS;
      const offer = random.oneIn(4) ? WITHOUT_TOPIC : null;
      const plan = inShort(planBatch(tools, batch, { offer }));
      const reference = referencePlan(tools, batch, offer);
      if (JSON.stringify(plan) !== JSON.stringify(reference)) {
        expect(plan, `round ${round}: ${JSON.stringify(batch)}`).toStrictEqual(reference);
      }
    }
  });

  test('on small batches of paths, shrunk when they differ', () => {
    const path = fc.constantFrom(...PATHS);
    const one = fc.oneof(
      path.map((at) => ['read', { path: at }] as const),
      path.map((at) => ['write', { path: at }] as const),
      fc.tuple(path, path).map(([from, to]) => ['copy', { from, to }] as const),
      fc.constant(['barrier', {}] as const),
    );
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), (names) => {
        const batch = names.map(([name, args], index) => call(`c${index}`, name, args));
        expect(inShort(planBatch(TOOLS, batch))).toStrictEqual(referencePlan(TOOLS, batch));
      }),
      { numRuns: roundsOf(500, 20_000) },
    );
  });

  test('on every batch of at most six calls of five kinds', () => {
    const kinds = [
      ['read', { path: 'a' }],
      ['read', { path: 'a/b' }],
      ['write', { path: 'a' }],
      ['write', { path: 'a/b' }],
      ['barrier', {}],
    ] as const;
    const longest = roundsOf(4, 6);
    const grow = (batch: readonly ReturnType<typeof call>[]): number => {
      const plan = inShort(planBatch(TOOLS, batch));
      const reference = referencePlan(TOOLS, batch);
      if (JSON.stringify(plan) !== JSON.stringify(reference))
        expect({ batch, plan }).toStrictEqual({ batch, plan: reference });
      if (batch.length >= longest) return 1;
      const longer = kinds.map(([name, args]) => grow([...batch, call(`c${batch.length}`, name, args)]));
      return longer.reduce((sum, count) => sum + count, 1);
    };
    expect(grow([])).toBe((5 ** (longest + 1) - 1) / 4);
  });

  test('on claims as an event may carry them: in any order, repeated, read and write at one key', () => {
    const claim: fc.Arbitrary<Claim> = fc.record({
      key: fc.constantFrom('k', 'k/a', 'k/a/b', 'k/c', 'm', 'm/a'),
      access: fc.constantFrom('read', 'write'),
    });
    const calls = fc.array(fc.array(claim, { maxLength: 3 }), { maxLength: 8 });
    fc.assert(
      fc.property(calls, (claimed) => {
        const batch = claimed.map((claims, index) => claimedCall(index, claims));
        const conflicts = conflictsOf(claimed.map((claims) => ({ parallelSafe: true, claims })));
        const { groups, after } = planBatch(TOOLS, batch).execution_plan;
        const levels = levelsOf(conflicts);
        const ids = batch.map(({ call_id }) => call_id);
        expect(levels).toStrictEqual(ids.map((id) => groups.findIndex((group) => group.includes(id))));
        expect(after).toStrictEqual(
          Object.fromEntries(reductionOf(conflicts).map((edges, j) => [ids[j], edges.map((i) => ids[i])])),
        );
      }),
      { numRuns: roundsOf(500, 20_000) },
    );
  });
});

// The arguments are in a blob, so the claims come with the event.
function claimedCall(index: number, claims: readonly Claim[]): ToolCallObserved {
  const digest = brand<'Digest'>(`sha256:${String(index).padStart(64, '0')}`);
  return {
    call_id: brand<'CallId'>(`c${index}`),
    tool_name: FREE.tool_name,
    arguments_ref: { ref: digest, bytes: 9_000, head: '', tail: '' },
    arguments_digest: digest,
    claims,
  };
}

describe('a plan', () => {
  const batches = fc
    .record({ seed: fc.nat(), size: fc.integer({ min: 0, max: 24 }) })
    .map(({ seed, size }) => randomBatch(randomFrom(seed), size));

  /** The planned calls with their claims, and the plan in terms of their indexes. */
  function dissect(plan: ToolBatchPlan): {
    readonly conflicts: readonly (readonly number[])[];
    readonly after: readonly (readonly number[])[];
    readonly levels: readonly number[];
  } {
    const ids = plan.planned_calls.map(({ call_id }) => call_id);
    const { groups, after } = plan.execution_plan;
    return {
      conflicts: conflictsOf(
        plan.planned_calls.map(({ parallel_safe, claims }) => ({ parallelSafe: parallel_safe, claims })),
      ),
      after: ids.map((id) => (after[id] ?? []).map((earlier) => ids.indexOf(earlier))),
      levels: ids.map((id) => groups.findIndex((group) => group.includes(id))),
    };
  }

  const holds = (property: (plan: ToolBatchPlan) => void): void => {
    fc.assert(
      fc.property(batches, (batch) => property(planBatch(TOOLS, batch))),
      { numRuns: roundsOf(150, 5_000) },
    );
  };

  test('orders every conflicting pair as observed', () => {
    holds((plan) => {
      const { conflicts, after, levels } = dissect(plan);
      const reach = reachOf(after);
      for (const [j, earlier] of conflicts.entries()) {
        for (const i of earlier) {
          expect(reach[j]?.has(i)).toBe(true);
          expect(levels[i] as number).toBeLessThan(levels[j] as number);
        }
      }
    });
  });

  test('never puts two conflicting calls into one group', () => {
    holds((plan) => {
      const { conflicts, levels } = dissect(plan);
      for (const [j, earlier] of conflicts.entries()) {
        for (const i of earlier) expect(levels[i]).not.toBe(levels[j]);
      }
    });
  });

  test('has no call that could move to an earlier group', () => {
    holds((plan) => {
      const { conflicts, levels } = dissect(plan);
      for (const [j, level] of levels.entries()) {
        if (level > 0) expect(conflicts[j]?.map((i) => levels[i])).toContain(level - 1);
      }
    });
  });

  test('waits for every conflicting call, without redundant edges', () => {
    holds((plan) => {
      const { conflicts, after } = dissect(plan);
      const reach = reachOf(after);
      expect(reach).toStrictEqual(reachOf(conflicts));
      for (const [j, edges] of after.entries()) {
        for (const dropped of edges) {
          const without = after.map((kept, k) => (k === j ? kept.filter((i) => i !== dropped) : kept));
          expect(reachOf(without)[j]?.has(dropped)).toBe(false);
        }
      }
    });
  });

  test('plans or rejects every call once, in observed order', () => {
    fc.assert(
      fc.property(batches, (batch) => {
        const plan = planBatch(TOOLS, batch);
        const indexes = plan.rejected.map(({ index }) => index);
        const rejected = new Set(indexes);
        expect(indexes).toStrictEqual([...rejected].sort((a, b) => a - b));
        expect(plan.planned_calls.map(({ call_id }) => call_id)).toStrictEqual(
          batch.filter((_, index) => !rejected.has(index)).map(({ call_id }) => call_id),
        );
        expect(plan.execution_plan.groups.flat().toSorted()).toStrictEqual(
          plan.planned_calls.map(({ call_id }) => call_id).toSorted(),
        );
      }),
      { numRuns: roundsOf(150, 5_000) },
    );
  });
});

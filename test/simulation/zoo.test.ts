// The bug zoo: faults as real ones would be, planted one at a time in our own engine and bridge, which the simulator
// must find. Nothing in production knows of it: functions are replaced while these tests run, or ports wrapped.
import { afterEach, describe, expect, test, vi } from 'vitest';
// What is replaced has to be so before anything else loads it: the bugs come first, from the inside out.
import { REDUCER_BUGS } from '../support/simulation/zoo/reducer-bugs.ts';
import { ENGINE_BUGS } from '../support/simulation/zoo/engine-bugs.ts';
import { BRIDGE_BUGS } from '../support/simulation/zoo/bridge-bugs.ts';
import { type Violation, simulate } from '../../src/testing/index.ts';
import { refoldBridge } from '../support/simulation/refold-bridge.ts';
import { HELD_UP, UNDO_HELD_UP } from '../support/simulation/zoo/held-up.ts';
import { type Bug, type Bugs, planted } from '../support/simulation/zoo/planted.ts';

const ZOO: Bugs = { ...REDUCER_BUGS, ...ENGINE_BUGS, ...BRIDGE_BUGS };

afterEach(() => {
  planted.bug = '';
  vi.restoreAllMocks();
});

const SEEDS_MAX = 5_000;

type Found = readonly [seed: number, law: Violation['law']];

/** A seed that shows the bug, and the law it breaks. */
async function find({ seed: known, bridge = refoldBridge, startEngine: start, plant }: Bug): Promise<Found | null> {
  plant?.();
  const shows = async (seed: number): Promise<Found | null> => {
    const options = { seed, bridge, ...(start === undefined ? {} : { startEngine: start }) };
    const [violation] = (await simulate(options)).violations;
    return violation === undefined ? null : [seed, violation.law];
  };
  let found = await shows(known);
  for (let seed = 1; seed <= SEEDS_MAX && found === null; seed += 1) found = await shows(seed);
  return found;
}

describe('the simulator finds', () => {
  test.each(Object.entries(ZOO))('%s', { timeout: 600_000 }, async (name, bug) => {
    planted.bug = name;
    const found = await find(bug);
    expect(found).not.toBeNull();
    if (found !== null) process.stdout.write(`zoo: ${name}: seed ${found[0]}, ${found[1]}\n`);
  });

  test.each([
    ['a call', HELD_UP, 'no conflicting calls overlap'],
    ['an undo', UNDO_HELD_UP, 'leases are fenced'],
  ] as const)('a bridge that goes on with %s after it was held up', async (_what, scenario, law) => {
    expect((await simulate({ scenario, bridge: refoldBridge })).violations).toEqual([]);
    planted.bug = 'a bridge goes on after it was held up';
    const [violation] = (await simulate({ scenario, bridge: refoldBridge })).violations;
    expect(violation?.law).toBe(law);
  });

  test('nothing when nothing is planted, at the same seeds', async () => {
    for (const { seed } of Object.values(ZOO)) {
      expect((await simulate({ seed, bridge: refoldBridge })).violations, `seed ${seed}`).toEqual([]);
    }
  });
});

// The bug zoo: realistic bugs, planted one at a time in refold's engine and bridge, which the simulator must find. The tests
// replace functions or wrap ports; the production code has no hooks for this.
import { afterEach, describe, expect, test, vi } from 'vitest';
// Modules must be mocked before anything else loads them: the bugs are imported first, from the inside out.
import { REDUCER_BUGS } from '../support/simulation/zoo/reducer-bugs.ts';
import { ENGINE_BUGS } from '../support/simulation/zoo/engine-bugs.ts';
import { BRIDGE_BUGS } from '../support/simulation/zoo/bridge-bugs.ts';
import { type Violation, simulate } from '../../src/testing/index.ts';
import { LAWS } from '../../src/testing/laws/laws.ts';
import { roundsOf } from '../support/random.ts';
import { refoldBridge } from '../support/simulation/refold-bridge.ts';
import { STALLED, UNDO_STALLED } from '../support/simulation/zoo/stalled.ts';
import { type Bug, type Bugs, planted } from '../support/simulation/zoo/planted.ts';

const ZOO: Bugs = { ...REDUCER_BUGS, ...ENGINE_BUGS, ...BRIDGE_BUGS };

afterEach(() => {
  planted.bug = '';
  vi.restoreAllMocks();
});

/** No checker of the simulator names laws 2 and 8 (docs/design.md, "Laws"). */
const WITHOUT_BUG: ReadonlySet<string> = new Set(['effects from state', 'the world is recorded']);

const SEEDS_MAX = 5_000;

type Found = readonly [seed: number, law: Violation['law']];

/** A seed that shows the bug by breaking its law first, and that law. */
async function find({
  seed: known,
  breaks,
  bridge = refoldBridge,
  startEngine: start,
  plant,
}: Bug): Promise<Found | null> {
  plant?.();
  const shows = async (seed: number): Promise<Found | null> => {
    const options = { seed, bridge, ...(start === undefined ? {} : { startEngine: start }) };
    const [violation] = (await simulate(options)).violations;
    return violation?.law === breaks ? [seed, violation.law] : null;
  };
  let found = await shows(known);
  for (let seed = 1; seed <= SEEDS_MAX && found === null; seed += 1) found = await shows(seed);
  return found;
}

describe('the simulator finds', () => {
  test.each(Object.entries(ZOO))('%s', { timeout: 600_000 }, async (name, bug) => {
    planted.bug = name;
    const found = await find(bug);
    expect(found, `no seed to ${SEEDS_MAX} shows a violation of "${bug.breaks}" first`).not.toBeNull();
    if (found !== null) process.stdout.write(`zoo: ${name}: seed ${found[0]}, ${found[1]}\n`);
  });

  test.each([
    ['a call', STALLED, 'no conflicting calls overlap'],
    ['an undo', UNDO_STALLED, 'leases are fenced'],
  ] as const)('a bridge that continues %s after a stall', async (_what, scenario, law) => {
    expect((await simulate({ scenario, bridge: refoldBridge })).violations).toEqual([]);
    planted.bug = 'a bridge continues after a stall';
    const [violation] = (await simulate({ scenario, bridge: refoldBridge })).violations;
    expect(violation?.law).toBe(law);
  });

  test('a bug for each law that the simulator checks', () => {
    const broken = new Set(Object.values(ZOO).map(({ breaks }) => breaks));
    const unbroken = LAWS.map(({ name }) => name).filter((law) => !broken.has(law) && !WITHOUT_BUG.has(law));
    expect(unbroken, 'plant a bug that breaks it: CONTRIBUTING.md, "Change a law"').toEqual([]);
  });

  test('nothing without a planted bug, at the same seeds', { timeout: 600_000 }, async () => {
    const bugs = Object.values(ZOO);
    for (const { seed } of bugs.slice(0, roundsOf(12, bugs.length))) {
      expect((await simulate({ seed, bridge: refoldBridge })).violations, `seed ${seed}`).toEqual([]);
    }
  });
});

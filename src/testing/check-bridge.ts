// Checks that a bridge obeys the laws, in one call from a test: it simulates many seeds and reports the first failure with
// everything needed to reproduce it.
import * as fc from 'fast-check';
import { SIM_SHRINKS_MAX } from '../../schemas/limits.ts';
import type { SimulatedBridge } from './bridge-world.ts';
import type { Violation } from './laws/judge.ts';
import { lawLabel } from './laws/laws.ts';
import type { OwnLaws } from './laws/own-laws.ts';
import { scenarios } from './draw-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { StartEngine } from './sim-options.ts';
import { type Simulation, simulate } from './simulate.ts';

export interface CheckBridgeOptions {
  /** How many seeds, at least 1; 200 by default. */
  readonly seeds?: number;
  /** The first seed, a whole number; 1 by default. */
  readonly from?: number;
  /** The engine to run the bridge against; refold's by default. */
  readonly startEngine?: StartEngine;
  /** Further laws, by name, checked on every event as it becomes durable. */
  readonly laws?: OwnLaws;
  /** The command that runs one seed again. `REFOLD_SEED` in the environment always works. */
  readonly command?: (seed: number) => string;
  /** Called after each seed. */
  readonly onSeed?: (seed: number, simulation: Simulation) => void;
}

/**
 * Simulates a bridge under many seeds and throws an Error for the first seed that breaks a law. The message holds the law,
 * the smallest scenario found that breaks it, the end of the trace, and the command that repeats it; `cause` is the error of
 * a bridge that failed. `REFOLD_SEED` runs that seed alone. Throws a RangeError when there is no seed to run.
 */
export async function checkBridge(bridge: SimulatedBridge, options: CheckBridgeOptions = {}): Promise<void> {
  const { startEngine, laws = {}, command = defaultCommand, onSeed = () => undefined } = options;
  const [from, to] = seedsOf(options, process.env['REFOLD_SEED']);
  const under = { bridge, laws, ...(startEngine === undefined ? {} : { startEngine }) };
  for (let seed = from; seed <= to; seed += 1) {
    const simulation = await simulate({ ...under, seed });
    onSeed(seed, simulation);
    if (simulation.violations.length === 0) continue;
    const smallest = await shrink(seed, async (scenario) => await simulate({ ...under, scenario }));
    const shown = smallest ?? simulation;
    throw new Error(describe(seed, shown, command(seed)), { cause: shown.violations[0]?.cause });
  }
}

/** The first and the last seed. A check of no seeds would always pass. */
function seedsOf({ seeds = 200, from = 1 }: CheckBridgeOptions, only = ''): readonly [from: number, to: number] {
  if (!Number.isSafeInteger(seeds) || seeds < 1) throw new RangeError(`seeds must be 1 or more; it is ${seeds}`);
  if (!Number.isSafeInteger(from)) throw new RangeError(`from must be a whole number; it is ${from}`);
  if (only === '') return [from, from + seeds - 1];
  if (!/^-?\d+$/.test(only)) throw new RangeError(`REFOLD_SEED must be a whole number; it is "${only}"`);
  return [Number(only), Number(only)];
}

const defaultCommand = (seed: number): string => `REFOLD_SEED=${seed} npx vitest run`;

/** The smallest scenario found that still breaks a law; null when the seed breaks none. */
async function shrink(seed: number, run: (scenario: Scenario) => Promise<Simulation>): Promise<Simulation | null> {
  let smallest: Simulation | null = null;
  let left = SIM_SHRINKS_MAX;
  const holds = async (scenario: Scenario): Promise<boolean> => {
    left -= 1;
    if (left < 0) return true;
    const simulation = await run(scenario);
    if (simulation.violations.length === 0) return true;
    smallest = simulation;
    return false;
  };
  await fc.check(fc.asyncProperty(scenarios(), holds), { seed, numRuns: 1 });
  return smallest;
}

/** How many lines of the trace a failure shows. */
const LAST_LINES = 40;

function describe(seed: number, { violations, scenario, trace }: Simulation, command: string): string {
  return [
    `seed ${seed} breaks ${violations.map(lineOf).join('; ')}`,
    `run it again: ${command}`,
    `smallest scenario: ${JSON.stringify(scenario)}`,
    'the end of the trace:',
    ...trace.slice(-LAST_LINES).map((line) => `  ${line}`),
  ].join('\n');
}

const lineOf = ({ law, message, atMs }: Violation): string => `${lawLabel(law)}: ${message} (after ${atMs} ms)`;

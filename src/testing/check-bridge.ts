// Does a bridge obey the laws? One call for a test: many seeds, and for the first that fails everything that is needed
// to understand it.
import * as fc from 'fast-check';
import { SIM_SHRINKS_MAX } from '../../schemas/limits.ts';
import type { SimulatedBridge } from './bridge-world.ts';
import { type Scenario, scenarios } from './scenario.ts';
import type { StartEngine } from './sim-world.ts';
import { type Simulation, simulate } from './simulate.ts';

export interface CheckBridgeOptions {
  /** How many seeds; 200 by default. */
  readonly seeds?: number;
  /** The first of them; 1 by default. */
  readonly from?: number;
  /** The engine to run the bridge against; ours by default. */
  readonly startEngine?: StartEngine;
  /** The one command that runs a seed again. The environment's `REFOLD_SEED` is honoured in any case. */
  readonly command?: (seed: number) => string;
  /** Called after each seed. */
  readonly onSeed?: (seed: number, simulation: Simulation) => void;
}

/**
 * Simulates a bridge under many seeds and throws an Error for the first that breaks a law: with the law, the smallest
 * scenario that still does, what happened last, and the command that repeats it. `REFOLD_SEED` runs that seed alone.
 */
export async function checkBridge(bridge: SimulatedBridge, options: CheckBridgeOptions = {}): Promise<void> {
  const { seeds = 200, startEngine, command = defaultCommand, onSeed = () => undefined } = options;
  const only = Number(process.env['REFOLD_SEED'] ?? Number.NaN);
  const from = Number.isInteger(only) ? only : (options.from ?? 1);
  const to = Number.isInteger(only) ? only : from + seeds - 1;
  const under = { bridge, ...(startEngine === undefined ? {} : { startEngine }) };
  for (let seed = from; seed <= to; seed += 1) {
    const simulation = await simulate({ ...under, seed });
    onSeed(seed, simulation);
    if (simulation.violations.length === 0) continue;
    const smallest = await shrink(seed, async (scenario) => await simulate({ ...under, scenario }));
    throw new Error(describe(seed, smallest ?? simulation, command(seed)));
  }
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

/** Lines of the trace that a failure shows. */
const LAST_LINES = 40;

function describe(seed: number, { violations, scenario, trace }: Simulation, command: string): string {
  return [
    `seed ${seed} breaks ${violations.map(({ law, message, atMs }) => `"${law}" after ${atMs} ms: ${message}`).join('; ')}`,
    `again: ${command}`,
    `smallest scenario: ${JSON.stringify(scenario)}`,
    'what happened last:',
    ...trace.slice(-LAST_LINES).map((line) => `  ${line}`),
  ].join('\n');
}

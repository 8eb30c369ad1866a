// The simulator: one seed, one scenario, one world, and what it broke.
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { startEngine } from '../engine/engine.ts';
import type { SimulatedBridge } from './bridge-world.ts';
import type { Violation } from './laws/judge.ts';
import type { OwnLaws } from './laws/own-laws.ts';
import { checkScenario } from './scenario-check.ts';
import { type Scenario, scenarioOf } from './scenario.ts';
import type { StartEngine } from './sim-options.ts';
import { SimWorld } from './sim-world.ts';

export interface SimulateOptions {
  readonly bridge: SimulatedBridge;
  /** Makes the scenario, 1 by default; ignored when one is given. */
  readonly seed?: number;
  /** One of one's own, or one that a failure has printed. */
  readonly scenario?: Scenario;
  /** The engine to simulate, over these ports; ours by default. */
  readonly startEngine?: StartEngine;
  /** Laws of one's own, by name, held against every event as it becomes durable. */
  readonly laws?: OwnLaws;
}

export interface Simulation {
  readonly scenario: Scenario;
  /** The laws that were broken, in the order in which it was noticed; none when all hold. */
  readonly violations: readonly Violation[];
  /** Digest of everything that happened, in order: the same seed gives the same. */
  readonly digest: Digest;
  /** Everything that happened, one line each, with the milliseconds since the beginning. */
  readonly trace: readonly string[];
  readonly events: number;
  readonly executions: number;
  /** How long it took in the world, in milliseconds. */
  readonly passedMs: number;
}

/**
 * Simulates one scenario. Throws for a scenario or a seed that is none, and for a fault of the simulator's own; whatever a
 * bridge does is a violation. Only a bridge that never lets go of the thread (a circle of promises that are all resolved)
 * cannot be told: then this does not end.
 */
export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const scenario = options.scenario ?? scenarioOf(options.seed ?? 1);
  checkScenario(scenario);
  const trace: string[] = [];
  const world = new SimWorld({
    scenario,
    bridge: options.bridge,
    startEngine: options.startEngine ?? startEngine,
    trace: (line) => trace.push(line),
    laws: options.laws ?? {},
  });
  await world.run();
  let events = 0;
  for (const book of world.laws.books.values()) events += book.events.length;
  return {
    scenario,
    violations: world.judge.violations,
    digest: digestText(trace.join('\n')),
    trace,
    events,
    executions: world.laws.executions.executions.length,
    passedMs: world.time.passedMs(),
  };
}

// The simulator: runs one scenario in one world and returns the violations.
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { startEngine } from '../engine/engine.ts';
import type { SimulatedBridge } from './bridge-world.ts';
import type { Violation } from './laws/judge.ts';
import type { OwnLaws } from './laws/own-laws.ts';
import { checkScenario } from './scenario-check.ts';
import { scenarioOf } from './draw-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { StartEngine } from './sim-options.ts';
import { SimWorld } from './sim-world.ts';

export interface SimulateOptions {
  readonly bridge: SimulatedBridge;
  /** The seed of the scenario, 1 by default; ignored when a scenario is given. */
  readonly seed?: number;
  /** The scenario to run, for example one that a failure printed. */
  readonly scenario?: Scenario;
  /** Starts the engine over these ports; refold's by default. */
  readonly startEngine?: StartEngine;
  /** Further laws, by name, checked on every event as it becomes durable. */
  readonly laws?: OwnLaws;
}

export interface Simulation {
  readonly scenario: Scenario;
  /** The violations in the order in which they were found; none when all laws hold. */
  readonly violations: readonly Violation[];
  /** Digest of the trace: the same seed gives the same digest. */
  readonly digest: Digest;
  /** Digest of everything that became durable: of the events and the states of all sessions. */
  readonly record: Digest;
  /** Everything that happened, one line each, with its time in milliseconds since the beginning. */
  readonly trace: readonly string[];
  readonly events: number;
  readonly executions: number;
  /** How long the simulation took in simulated time, in milliseconds. */
  readonly passedMs: number;
}

/**
 * Simulates one scenario. Throws for an invalid scenario or seed and for a fault of the simulator; a fault of a bridge is a
 * violation. It does not return when a bridge never yields the thread (an endless chain of resolved promises).
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
  const sessions = [...world.laws.storedSessions.values()];
  return {
    scenario,
    violations: world.judge.violations,
    digest: digestText(trace.join('\n')),
    record: digestText(sessions.flatMap(({ commits }) => commits.map(({ chain }) => chain)).join('\n')),
    trace,
    events: sessions.reduce((sum, stored) => sum + stored.events.length, 0),
    executions: world.laws.executions.executions.length,
    passedMs: world.time.passedMs(),
  };
}

// The simulator itself: one seed is one run, and what fails says how to see it again.
import { right } from 'fp-ts/lib/Either.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type SimulatedBridge, checkBridge, scenarioOf, simulate } from '../../src/testing/index.ts';
import { refoldBridge } from '../support/simulation/refold-bridge.ts';

afterEach(() => vi.unstubAllEnvs());

/** A bridge that reports every start without asking the engine. */
const careless: SimulatedBridge = (world) => {
  const { client } = world;
  const submit: typeof client.submit = (session, request) =>
    request.events.some(({ kind }) => kind === 'ToolCallStarted')
      ? async () => right({ events: [] }) as never
      : client.submit(session, request);
  return refoldBridge({ ...world, client: { ...client, submit } });
};

const failureOf = async (work: Promise<void>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    return String(error);
  }
  return 'it did not fail';
};

describe('a seed', () => {
  test('is one run: everything happens again in the same order', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const first = await simulate({ seed, bridge: refoldBridge });
      const second = await simulate({ seed, bridge: refoldBridge });
      expect(second.trace).toEqual(first.trace);
      expect(second.digest).toBe(first.digest);
    }
  });

  test('differs from others', async () => {
    const seeds = Array.from({ length: 20 }, (_, index) => index + 1);
    const runs = await Promise.all(seeds.map((seed) => simulate({ seed, bridge: refoldBridge })));
    expect(new Set(runs.map(({ digest }) => digest)).size).toBe(seeds.length);
  });

  test('together with others, meets every fault and every act', () => {
    const scenarios = Array.from({ length: 400 }, (_, seed) => scenarioOf(seed));
    const met = new Set(
      scenarios.flatMap(({ messages, disk, processes, sessions }) => [
        ...[...messages, ...disk, ...processes].map(({ what }) => what),
        ...sessions.flatMap(({ acts }) => acts.map(({ what }) => what)),
      ]),
    );
    // Six faults of messages, four of the disk, seven of processes, twelve acts.
    expect(met.size).toBe(6 + 4 + 7 + 12);
  });
});

describe('a bridge that breaks a law', () => {
  test('is told which, in the smallest scenario that shows it, and how to see it again', async () => {
    const failure = await failureOf(checkBridge(careless, { seeds: 50 }));
    const seed = Number(/seed (\d+) breaks "(durable first|honest reports)"/.exec(failure)?.[1]);
    expect(failure).toContain(`again: REFOLD_SEED=${seed} npx vitest run`);
    const smallest = JSON.parse(/smallest scenario: (.*)/.exec(failure)?.[1] ?? 'null') as ReturnType<
      typeof scenarioOf
    >;
    const size = (scenario: typeof smallest): number => JSON.stringify(scenario).length;
    expect(size(smallest)).toBeLessThan(size(scenarioOf(seed)));
    expect(smallest.sessions.flatMap(({ turns }) => turns).flat().length).toBeLessThanOrEqual(2);
    expect((await simulate({ scenario: smallest, bridge: careless })).violations).not.toEqual([]);
  });

  test('is simulated under the one seed that the environment names', async () => {
    const seen: number[] = [];
    vi.stubEnv('REFOLD_SEED', '7');
    await checkBridge(refoldBridge, { onSeed: (seed) => seen.push(seed) });
    expect(seen).toEqual([7]);
  });

  test('is not let off because it gave up', async () => {
    const failure = await failureOf(checkBridge(() => Promise.reject(new Error('no more')), { seeds: 1 }));
    expect(failure).toMatch(/"every run ends" .* gave up: Error: no more/);
  });

  test('is not let off because it does nothing', async () => {
    const failure = await failureOf(checkBridge(() => new Promise(() => undefined), { seeds: 1 }));
    expect(failure).toContain('"every run ends"');
  });
});

// Loops of frameworks that are killed at every place and at random instants: started again, each ends with every effect once
// or reported as unknown, with no turn asked again that is on record, and with a record that keeps the laws.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { COMPAT } from './support/consumer.ts';
import { type Kill, type Outcome, runKilled } from './support/crashes.ts';

const execute = promisify(execFile);
const CLI = join(COMPAT, 'node_modules/refold/dist/src/cli/main.js');
/** A sample; `REFOLD_TEST_ROUNDS=10` is the full size. */
const INSTANTS = 5 * Number(process.env['REFOLD_TEST_ROUNDS'] ?? 1);

async function checkOutcome({ world, printed, dataDir }: Outcome): Promise<void> {
  expect(printed).toContain('Done.');
  for (const order of ['a', 'b']) {
    const times = world.filter((line) => line === `refund ${order}`).length;
    // A call that a kill cut off is never run again: the model is told that its outcome is unknown.
    const told = printed.includes(`refunded ${order}`)
      ? 'done'
      : printed.includes('outcome_unknown')
        ? 'unknown'
        : 'nothing';
    expect([order, told, times]).toEqual([order, told, told === 'done' ? 1 : Math.min(times, 1)]);
    expect(told).not.toBe('nothing');
  }
  const verified = await execute(process.execPath, [CLI, 'verify', '--all', '--laws', '--data-dir', dataDir]);
  expect(verified.stderr).toBe('');
}

describe.each(['openai-agents', 'langgraph'])('%s', (framework) => {
  const program = `${framework}/killed-program.mjs`;

  test('killed at each place that it passes', async () => {
    let places: readonly string[] = [];
    await runKilled(program, null, (outcome) => {
      ({ places } = outcome);
      return checkOutcome(outcome);
    });
    const visited = new Set<string>();
    for (const at of new Set(places)) {
      await runKilled(program, { at }, (outcome) => {
        if (outcome.starts === 2) visited.add(at);
        return checkOutcome(outcome);
      });
    }
    expect(visited).toEqual(new Set(places));
    expect(visited.size).toBeGreaterThanOrEqual(10);
  });

  test(`killed at ${INSTANTS} instants`, async () => {
    const began = performance.now();
    await runKilled(program, null, checkOutcome);
    const wholeMs = performance.now() - began;
    let killed = 0;
    for (let index = 0; index < INSTANTS; index += 1) {
      // Spread over the run: its time differs from process to process, so that the instants are random within it.
      const kill: Kill = { afterMs: (wholeMs * (index + 0.5)) / INSTANTS };
      await runKilled(program, kill, (outcome) => {
        if (outcome.starts > 1) killed += 1;
        return checkOutcome(outcome);
      });
    }
    expect(killed).toBeGreaterThan(INSTANTS / 3);
  });
});

// Loops of frameworks that are killed at every place and at random instants: started again, each ends with every effect once
// or reported as unknown, with no turn asked again that is on record, and with a record that keeps the laws.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { COMPAT } from './support/consumer.ts';
import { type Killing, type Outcome, openKilling } from './support/crashes.ts';

const execute = promisify(execFile);
const CLI = join(COMPAT, 'node_modules/refold/dist/src/cli/main.js');
/** A sample; `REFOLD_TEST_ROUNDS=10` is the full size. */
const ROUNDS = Number(process.env['REFOLD_TEST_ROUNDS'] ?? 1);

let killing: Killing | null = null;
afterEach(() => killing?.close());

describe.each([
  ['ai-sdk', 20 * ROUNDS],
  ['openai-agents', 5 * ROUNDS],
  ['langgraph', 5 * ROUNDS],
])('%s', (framework, instants) => {
  const program = `${framework}/killed-program.mjs`;

  test('killed once at each durable event and in each function: 0 unvisited', async () => {
    killing = await openKilling(program);
    expect(await killing.begin(null)).toBe(false);
    const [whole] = await killing.finish();
    const places = [...new Set(whole?.places)];
    for (const place of ['opened', 'in turn 1', 'in find b', 'before refund a', 'after refund b', 'in turn 3']) {
      expect(places).toContain(place);
    }
    expect(places.filter((place) => place.startsWith('event ')).length).toBeGreaterThan(12);
    const unvisited: string[] = [];
    for (const place of places) if (!(await killing.begin({ place }))) unvisited.push(place);
    expect(unvisited).toEqual([]);
    await checkAll(killing);
  });

  test(`killed at ${instants} random instants`, async () => {
    killing = await openKilling(program);
    await killing.begin(null);
    let killed = 0;
    for (let tries = 0; killed < instants; tries += 1) {
      expect(tries).toBeLessThan(10 * instants);
      // Spread over a session; its time differs from process to process, so that the instants are random within it.
      const afterMs = (killing.sessionMs() * (killed + Math.random())) / instants;
      if (await killing.begin({ afterMs })) killed += 1;
    }
    await checkAll(killing);
  });
});

/** What has become of every session, and of the record. */
async function checkAll(all: Killing): Promise<void> {
  for (const outcome of await all.finish()) checkOutcome(outcome);
  const verified = await execute(process.execPath, [CLI, 'verify', '--all', '--laws', '--data-dir', all.dataDir]);
  expect(verified.stderr).toBe('');
}

function checkOutcome({ session, told, world, kills }: Outcome): void {
  expect([session, told]).toEqual([session, expect.stringContaining('Done.')]);
  for (const order of ['a', 'b']) {
    const times = world.filter((line) => line === `refund ${order}`).length;
    // A call that a kill cut off is never run again: the model is told that its outcome is unknown.
    const isDone = told.includes(`refunded ${order}`);
    const expected = isDone ? 1 : Math.min(times, 1);
    expect([session, order, isDone || told.includes('outcome_unknown'), times]).toEqual([
      session,
      order,
      true,
      expected,
    ]);
  }
  // A killed request may have to be made again, and nothing else is.
  expect([session, world.filter((line) => line.startsWith('turn ')).length <= 3 + kills]).toEqual([session, true]);
}

// The k-th call of the stores fails, for every k of every story and in every way it can fail. Each request is accepted,
// or refused with a code that allows sending it again, and then accepted. In the end the state is that of an
// undisturbed run, on disk and in a restarted engine.
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { stateBytes } from '../../src/core/index.ts';
import type { SessionState } from '../../schemas/state.ts';
import { type Disk, type IoFault, newDisk } from '../support/engine/disk.ts';
import { STORIES, type Story, restarts, views } from '../support/engine/stories.ts';
import { newVirtualClock, rest } from '../support/engine/virtual-clock.ts';
import { SESSION, type World, durable, newWorld } from '../support/engine/world.ts';
import { roundsOf } from '../support/random.ts';

const FAULTS: readonly IoFault[] = ['refused', 'full', 'unknown', 'lost_ack', 'throws'];
// While the state of a session is in doubt, nothing of it can be leased.
const MAY_BE_SENT_AGAIN = [
  'lease_required',
  'stale_lease',
  'internal',
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'closing',
];
const ATTEMPTS_MAX = 4;

/** The state without its times: a request that is sent again is recorded later. */
const timeless = (state: SessionState): string =>
  Buffer.from(stateBytes(state))
    .toString()
    .replace(/"(\w*at_ms)":\d+/g, '"$1":0');

async function openDespiteFaults(disk: Disk): Promise<World> {
  try {
    return await newWorld(disk, newVirtualClock());
  } catch (error) {
    if (!/made to|was lost/.test(String(error))) throw error;
    return await newWorld(disk, newVirtualClock());
  }
}

/** Runs a story to its end; refused requests are sent again. */
async function runStory({ steps }: Story, disk: Disk): Promise<string> {
  const world = await openDespiteFaults(disk);
  // Every story includes a restart and a load.
  for (const [index, step] of [...steps, restarts, views].entries()) {
    for (let attempt = 1; ; attempt += 1) {
      const code = await step(world);
      if (code === 'done') break;
      expect(MAY_BE_SENT_AGAIN, `step ${index}`).toContain(code);
      expect(attempt, `step ${index}: ${code}`).toBeLessThan(ATTEMPTS_MAX);
    }
  }
  await rest();
  disk.fault = () => null;
  const inMemory = timeless((await must(world.engine.client.session(SESSION))).state);
  expect(inMemory).toBe(timeless(await durable(disk)));
  await world.engine.close();
  return inMemory;
}

describe('the k-th call of the stores fails', () => {
  test.each(STORIES)('in the story: $name', { timeout: 300_000 }, async (story) => {
    const undisturbed = newDisk();
    const expected = await runStory(story, undisturbed);
    const calls = undisturbed.calls.length;
    expect(calls).toBeGreaterThan(4);
    // The sample alternates between the faults; only a soak makes all calls of a story of many calls fail.
    const isLong = calls > 100 && roundsOf(1) === 1;
    const ways = calls > 100 ? roundsOf(1) : roundsOf(1, FAULTS.length);
    for (let k = 1; k <= calls; k += 1) {
      if (isLong && k % (undisturbed.calls[k - 1] === 'find' ? 12 : 3) !== 0) continue;
      for (let way = 0; way < Math.min(ways, FAULTS.length); way += 1) {
        const fault = FAULTS[(k + way) % FAULTS.length] ?? 'refused';
        const disk = newDisk();
        disk.fault = ({ nth }) => (nth === k ? fault : null);
        const state = await runStory(story, disk).catch((error: unknown) => {
          throw new Error(`call ${k} (${undisturbed.calls[k - 1] ?? ''}) ${fault}: ${String(error)}`);
        });
        expect(state === expected, `call ${k} (${undisturbed.calls[k - 1] ?? ''}) ${fault}`).toBe(true);
      }
    }
    process.stdout.write(`${story.name}: ${calls} calls\n`);
  });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { bundleScript } from '../support/journal/bundle.ts';
import { loopEvent, loopEvents, loopSessions } from '../support/journal/loop-events.ts';
import { commitAt, eventId, lengthOf, numbersFrom, readAll } from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';
import { roundsOf } from '../support/random.ts';

const ROUNDS = roundsOf(3);

let bundle: Awaited<ReturnType<typeof bundleScript>>;

beforeAll(async () => {
  bundle = await bundleScript('test/support/journal/append-loop.ts');
});

afterAll(async () => {
  await bundle.remove();
});

/** Runs the appending process and kills it after that many acknowledgements; returns the last one of each session. */
async function runUntilKilled(directory: string, acknowledgements: number): Promise<ReadonlyMap<string, number>> {
  const child = spawn(process.execPath, [bundle.script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const acknowledged = new Map<string, number>();
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [id, version] = line.split(' ');
    if (id === undefined || version === undefined) continue;
    acknowledged.set(id, Number(version));
    seen += 1;
    // Lines that are still in the pipe were acknowledged too: the loop continues to the end of the pipe.
    if (seen === acknowledgements) child.kill('SIGKILL');
  }
  const [, signal] = await exited;
  expect(signal).toBe('SIGKILL');
  return acknowledged;
}

describe('a process that is killed while it appends', () => {
  test(`loses no acknowledged event, in ${ROUNDS} rounds`, () =>
    inTemporaryDirectory(async (directory) => {
      const below = numbersFrom(20_260_801);
      let slowestOpenMs = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const acknowledged = await runUntilKilled(directory, 1 + below(400));
        const before = performance.now();
        const journal = await must(openLevelJournal(directory));
        slowestOpenMs = Math.max(slowestOpenMs, performance.now() - before);
        for (const id of loopSessions) {
          const head = await must(journal.head(id));
          expect(head.version).toBeGreaterThanOrEqual(acknowledged.get(id) ?? 0);
          const commits = await readAll(journal, id);
          expect(lengthOf(commits)).toBe(head.version);
          for (const commit of commits)
            expect(commit).toEqual(commitAt(commit.position, ...loopEvents(id, commit.position)));
          const last = head.version - 1;
          expect(await must(journal.find(id, eventId(loopEvent(id, last))))).toBe(last < 0 ? null : last);
        }
        await journal.close();
      }
      process.stdout.write(`killed ${ROUNDS} times; slowest opening ${slowestOpenMs.toFixed(1)} ms\n`);
    }));
});

// Any position of a stream can be gone to: the state there, and what is folded again, are those of a plain fold.
import { expect, test } from 'vitest';
import { newStreamFold, type StreamFold } from '../../inspector/folding/stream-fold.ts';
import { KEPT_EVERY } from '../../inspector/folding/kept-states.ts';
import { newFileSource } from '../../inspector/records/file-source.ts';
import { eventsIn, type StreamRecord } from '../../schemas/record.ts';
import { stateDigest } from '../../src/core/index.ts';
import { benchGenesis, recordStream } from '../../bench/stream.ts';
import { benchPackage } from '../../bench/tools.ts';
import { commitsIn, foldedIn, linesOf, recordsOf } from '../audit/records.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { walk } from '../support/streams.ts';

const fileOf = (records: readonly StreamRecord[]) => newFileSource('file', 'stream', new Blob([linesOf(records)]));

async function foldOf(records: readonly StreamRecord[]): Promise<StreamFold> {
  const fold = newStreamFold(fileOf(records));
  await fold.run();
  return fold;
}

/** A stream of several kept states, in commits of random sizes. */
function longStream(events: number, random: Random): StreamRecord[] {
  const genesis = benchGenesis('long');
  const recorded = [...recordStream(genesis, events)].map(({ event }) => event);
  const sizes = Array.from({ length: events }, () => 1 + random.below(random.oneIn(20) ? 256 : 4));
  return recordsOf({ genesis, tool_package: benchPackage(), events: recorded }, sizes);
}

test('every position of a long stream is that of a plain fold', async () => {
  const random = randomFrom(1);
  const records = longStream(roundsOf(1_000, 1_500), random);
  const plain = foldedIn(records);
  const fold = await foldOf(records);
  expect(fold.kept.length).toBeGreaterThan(3);
  for (let at = 0; at <= plain.length; at += 1) {
    expect(at - (fold.kept.before(at)?.state.version ?? -Infinity)).toBeLessThan(2 * KEPT_EVERY);
  }
  for (let round = 0; round < roundsOf(10, 250); round += 1) {
    const at = 1 + random.below(plain.length);
    expect(stateDigest(await fold.stateAt(at)), `at ${at}`).toBe(stateDigest(plain[at - 1]?.after as never));
  }
  for (let round = 0; round < roundsOf(4); round += 1) {
    const from = random.below(plain.length);
    const to = Math.min(plain.length, from + random.below(3 * KEPT_EVERY));
    const seen: number[] = [];
    await fold.foldAgain(from, to, ({ position }) => seen.push(position));
    expect(seen).toEqual(plain.slice(from, to).map(({ position }) => position));
  }
});

test('random sessions have the same states at each position', async () => {
  for (let seed = 1; seed <= roundsOf(2); seed += 1) {
    const random = randomFrom(seed);
    const { session } = walk(seed, 80);
    const sizes = Array.from({ length: 200 }, () => 1 + random.below(5));
    const records = recordsOf(session, sizes);
    const plain = foldedIn(records);
    const fold = await foldOf(records);
    for (const { position, after } of plain) {
      expect(stateDigest(await fold.stateAt(position + 1))).toBe(stateDigest(after));
    }
  }
});

test('a file is read from any position, also where it was not read before', async () => {
  const records = longStream(2_500, randomFrom(3));
  const events = commitsIn(records).flatMap((commit) => eventsIn(commit));
  expect(linesOf(records).length).toBeGreaterThan(1_000_000);
  const random = randomFrom(4);
  for (let round = 0; round < roundsOf(3, 8); round += 1) {
    const source = fileOf(records);
    expect(await source.total()).toBe(events.length);
    const from = random.below(events.length);
    for await (const [commit] of source.commitsFrom(from)) {
      if (commit === undefined) continue;
      const first = eventsIn(commit).find(({ position }) => position === from);
      expect(first).toEqual(events[from]);
      break;
    }
  }
});

test('asks are answered while a source folds', async () => {
  const fold = newStreamFold(fileOf(longStream(1_000, randomFrom(5))));
  const ran = fold.run();
  let turns = 0;
  while (!fold.progress().done) {
    turns += 1;
    await new Promise((resolve) => void setImmediate(resolve));
  }
  await ran;
  expect(turns).toBeGreaterThan(2);
});

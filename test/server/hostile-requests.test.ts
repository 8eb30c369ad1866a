// No request holds the event loop of an engine for long, however hostile it is: else one client delays all others.
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { PACKAGES_SHARED_MAX } from '../../schemas/limits.ts';
import type { ToolPackage } from '../../schemas/tool-set.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { partsOf } from '../../src/core/package-parts.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { packageOf } from '../support/engine/world.ts';
import { CORPUS } from '../support/hostile/corpus.ts';
import { heldBy, sendHostile } from '../support/hostile/held.ts';
import type { HostileCase } from '../support/hostile/request.ts';
import { type ServedTarget, serveTarget } from '../support/hostile/target.ts';
import { roundsOf } from '../support/random.ts';
import { tool } from '../support/tools.ts';

/**
 * How much longer than an idle loop the loop may be held, in milliseconds. The sample runs beside other tests, which share
 * the caches and cores of the machine, so it allows twice as much; the whole corpus is held to the limit itself.
 */
const HELD_MS_MAX = roundsOf(100, 50);
/** A case that failed is tried again: whatever else the machine does can only make it slower. */
const TRIES = 5;
const IDLE_MS = 20;

let target: ServedTarget;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

beforeAll(async () => {
  target = await serveTarget();
});

afterAll(async () => {
  agent.destroy();
  await target.close();
});

interface Measured {
  /** Longer than an idle loop was held just before and after, in milliseconds. */
  readonly heldMs: number;
  readonly statuses: readonly number[];
}

async function measure({ requests }: HostileCase): Promise<Measured> {
  const made = await requests(target);
  const before = await heldBy(() => wait(IDLE_MS));
  let statuses: readonly number[] = [];
  const held = await heldBy(async () => {
    statuses = await Promise.all(made.map((one) => sendHostile(agent, target.port, one)));
  });
  const after = await heldBy(() => wait(IDLE_MS));
  return { heldMs: held - Math.max(before, after), statuses };
}

test('the corpus has more than 300 cases, each with a name of its own', () => {
  expect(CORPUS.length).toBeGreaterThan(300);
  expect(new Set(CORPUS.map(({ name }) => name)).size).toBe(CORPUS.length);
});

const EVERY = CORPUS.length / roundsOf(10, CORPUS.length);

// In a sample, every so many cases: all kinds are among them.
test('no hostile request holds the event loop 50 ms longer than it is held anyway, and each gets an answer', async () => {
  const faults: string[] = [];
  for (let at = 0; at < CORPUS.length; at += EVERY) {
    const one = CORPUS[Math.floor(at)] as HostileCase;
    let least = Infinity;
    for (let tries = 0; tries < TRIES && least > HELD_MS_MAX; tries += 1) {
      const { heldMs, statuses } = await measure(one);
      least = Math.min(least, heldMs);
      // 500 is a fault of the engine. 0: the connection was closed before the whole body was read.
      if (statuses.includes(500)) faults.push(`${one.name}: a fault of the engine`);
    }
    if (least > HELD_MS_MAX) faults.push(`${one.name}: ${Math.round(least)} ms`);
  }
  expect(faults).toEqual([]);
}, 900_000);

/** A load in slices holds the loop for about as long as one slice lasts. */
const LOAD_HELD_MS_MAX = 20;

// Sessions share the packages in memory, so each is read by an engine that has not seen it.
test('no load of a session with a tool package of 0.5 MB holds the event loop for that long', async () => {
  const session_id = brand<'SessionId'>('of-a-large-package');
  const journal = openMemoryJournal();
  const ports = { journal, blobs: openMemoryBlobs() };
  const first = await must(startEngine(ports));
  await must(first.client.createSession({ session_id, tool_package: largePackage() }));
  let least = Infinity;
  for (let tries = 0; tries < TRIES && least > LOAD_HELD_MS_MAX; tries += 1) {
    for (let at = 0; at < PACKAGES_SHARED_MAX; at += 1) readPackage(`filler-${tries}-${at}`);
    const engine = await must(startEngine({ ...ports, journal: { ...journal, close: () => Promise.resolve() } }));
    const before = await heldBy(() => wait(IDLE_MS));
    least = Math.min(least, (await heldBy(() => must(engine.client.session(session_id)))) - before);
    await engine.close();
  }
  await first.close();
  expect(least).toBeLessThanOrEqual(LOAD_HELD_MS_MAX);
});

/** Brings another package into memory, so that an earlier one leaves it. */
const readPackage = (name: string): void => void partsOf(packageOf([tool(name)]));

const largePackage = (): ToolPackage =>
  packageOf(
    Array.from({ length: 240 }, (_, index) =>
      tool(`t${index}`, {
        input_schema: {
          properties: Object.fromEntries(
            Array.from({ length: 32 }, (__, at) => [`p${at}`, { type: 'string', maxLength: at + 100 }]),
          ),
        },
      }),
    ),
  );

// A clock that is set ahead, or that was ahead and is right again: no wait lasts longer than was asked.
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { IDLE_SESSIONS_MAX, RETRY_MS } from '../../schemas/limits.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { SESSION, Talk, type World, callsIn, newWorld, packageOf, settled } from '../support/engine/world.ts';
import { eventsOf } from '../support/records.ts';
import { ASKS, READ } from '../support/tools.ts';

const HOUR_MS = 3_600_000;

/** A wait: what begins it, how long it must last in milliseconds, and when it is over. */
interface Wait {
  readonly begin: (world: World) => Promise<unknown>;
  readonly waitMs: number;
  readonly ended: (world: World) => Promise<boolean>;
}

const WAITS: Readonly<Record<string, Wait>> = {
  'the retry of a generate': {
    begin: async ({ talk }) => {
      await talk.run();
      const fault = { code: 'busy', message: 'busy', retryable: true };
      await talk.submit([{ kind: 'GenerateFailed', run_id: 'run-1', turn: 1, ...fault }]);
    },
    waitMs: 500,
    ended: async ({ talk }) => (await talk.state()).run?.retry?.not_before_ms === null,
  },
  'the retry of a call': {
    begin: async ({ talk }) => {
      await talk.calls(['a', 'read']);
      const [call] = callsIn(await talk.lease(brand<'OwnerId'>('bridge-a')));
      if (call === undefined) throw new Error('no call is owed');
      await talk.submit([{ ...settled(call, false), retryable: true } as ReturnType<typeof settled>]);
    },
    waitMs: 500,
    ended: async ({ talk }) => (await talk.state()).active_tool_batch?.timed === undefined,
  },
  'a question to a person': {
    begin: async ({ talk }) => {
      await talk.submit([
        { kind: 'ConsentPolicySet', policy: { ...CONSENT_PRESETS.allow_all, approval_ttl_ms: 1_000 } },
      ]);
      await talk.calls(['a', 'asks']);
    },
    waitMs: 1_000,
    ended: async ({ talk }) => (await talk.state()).active_tool_batch?.waiting !== 1,
  },
  'the wall time of a run': {
    begin: async ({ talk }) => {
      await talk.submit([{ kind: 'RunRequested', input: { text: 'go' }, run_overrides: { wall_ms_max: 2_000 } }]);
      await talk.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
    },
    waitMs: 2_000,
    ended: async ({ talk }) => (await talk.state()).run === null,
  },
};

/** How a wait begins while the clock is ahead, or in a session that was recorded when it was. */
const CLOCKS: Readonly<Record<string, (world: World, begin: () => Promise<unknown>) => Promise<unknown>>> = {
  'is set back before it': async ({ clock, talk }, begin) => {
    await talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    clock.jump(-HOUR_MS);
    await begin();
  },
  'is set back during it': async ({ clock }, begin) => {
    await begin();
    clock.jump(-HOUR_MS);
  },
  'is set ahead before it, while another session waits longer': async ({ clock, engine }, begin) => {
    const policy = { ...CONSENT_PRESETS.allow_all, approval_ttl_ms: 20_000 };
    const other = await new Talk(engine.client, brand('other')).create(packageOf([ASKS]), policy);
    await other.calls(['a', 'asks']);
    clock.jump(HOUR_MS);
    await begin();
  },
  'is set back while the engine is down, before it': async (world, begin) => {
    await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    world.clock.jump(-HOUR_MS);
    await world.restart();
    await begin();
  },
  'is set back while the engine is down, during it': async (world, begin) => {
    await begin();
    world.clock.jump(-HOUR_MS);
    await world.restart();
    await world.clock.advance(0);
  },
  'goes on from there after a second set-back': async (world, begin) => {
    world.clock.jump(-HOUR_MS);
    await world.restart();
    await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    world.clock.jump(-HOUR_MS);
    await begin();
  },
};

async function aheadWorld(): Promise<World> {
  const world = await newWorld();
  world.clock.jump(3 * HOUR_MS);
  await world.talk.create(packageOf([READ, ASKS]));
  return world;
}

describe.each(Object.entries(CLOCKS))('when a clock that was an hour ahead %s', (_name, set) => {
  test.each(Object.entries(WAITS))('%s lasts as long as was asked', async (_wait, { begin, waitMs, ended }) => {
    const world = await aheadWorld();
    await set(world, () => begin(world));
    await world.clock.advance(waitMs - 1);
    expect(await ended(world)).toBe(false);
    await world.clock.advance(1);
    expect(await ended(world)).toBe(true);
  });
});

describe('a session that waits in a time ahead of the clock', () => {
  const begin = async (world: World): Promise<unknown> => (WAITS['the wall time of a run'] as Wait).begin(world);

  test('is woken also when it is not in memory', async () => {
    const world = await aheadWorld();
    await begin(world);
    world.clock.jump(-HOUR_MS);
    await world.restart();
    await world.clock.advance(0);
    for (let other = 0; other <= IDLE_SESSIONS_MAX; other += 1) {
      await new Talk(world.talk.client, brand<'SessionId'>(`other-${other}`))
        .create(packageOf([READ]))
        .then((talk) => talk.state());
    }
    await world.clock.advance(2_000);
    expect((await world.talk.state()).run).toBeNull();
  });

  test('is woken once, after storage has failed', async () => {
    const world = await aheadWorld();
    await begin(world);
    world.clock.jump(-HOUR_MS);
    await world.restart();
    let faults = 3;
    world.disk.fault = ({ name }) => (name === 'append' && (faults -= 1) >= 0 ? 'refused' : null);
    await world.clock.advance(2_000 + 4 * RETRY_MS);
    const times = eventsOf(await must(world.talk.client.records(SESSION))).filter(({ kind }) => kind === 'TimeReached');
    expect(times).toHaveLength(1);
    expect(world.clock.pending()).toBe(0);
  });

  test('leaves the time of other sessions alone', async () => {
    const world = await aheadWorld();
    world.clock.jump(-3 * HOUR_MS);
    await world.restart();
    const other = await new Talk(world.talk.client, brand<'SessionId'>('s-2')).create(packageOf([READ]));
    await begin({ ...world, talk: other });
    await world.clock.advance(1_999);
    expect((await other.state()).run?.phase).toBe('paused_generating');
    expect((await other.state()).updated_at_ms).toBe(1_000_000);
    await world.clock.advance(1);
    expect((await other.state()).run).toBeNull();
  });

  test('follows the clock again when it waits for nothing', async () => {
    const world = await aheadWorld();
    world.clock.jump(-HOUR_MS);
    await world.restart();
    await begin(world);
    await world.clock.advance(2_000);
    const { updated_at_ms } = await world.talk.state();
    await world.clock.advance(HOUR_MS / 2);
    await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    expect((await world.talk.state()).updated_at_ms).toBe(updated_at_ms);
    await world.clock.advance(HOUR_MS / 2);
    await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
    expect((await world.talk.state()).updated_at_ms).toBe(world.clock.now());
  });
});

describe('a clock that is set forward and back again and again', () => {
  test('leads by no more than it once showed', async () => {
    const world = await newWorld();
    await world.talk.create();
    for (let round = 0; round < 5; round += 1) {
      world.clock.jump(HOUR_MS);
      await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
      world.clock.jump(-HOUR_MS);
      await world.talk.submit([{ kind: 'SessionConfigured', config: {} }]);
      await world.clock.advance(10);
    }
    const { updated_at_ms } = await world.talk.state();
    expect(updated_at_ms - world.clock.now()).toBeLessThanOrEqual(HOUR_MS);
  });
});

test('an engine whose machine shows a time before 1970 does not start, and says what to set', async () => {
  const clock = { now: () => -HOUR_MS, elapsed: () => 0, after: () => () => undefined };
  const started = await startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs(), clock })();
  expect(started).toMatchObject({
    left: { code: 'invalid_value', path: '/clock', message: expect.stringContaining('set the clock') as string },
  });
});

// The append path under every fault of its stores: durable first, all or nothing, and nothing twice
// (docs/design.md, laws 3 and 15).
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { must } from '../../src/client/must.ts';
import { resultsDigest, stateBytes } from '../../src/core/index.ts';
import { type Disk, type IoFault, newDisk } from '../support/engine/disk.ts';
import { scenario } from '../support/engine/scenario.ts';
import { newVirtualClock, rest } from '../support/engine/virtual-clock.ts';
import { A, SESSION, type World, durable, ingress, newWorld } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { randomFrom } from '../support/random.ts';
import { eventsOf } from '../support/records.ts';

// While the state of a session is in doubt, nothing of it can be leased.
const MAY_BE_SENT_AGAIN = ['lease_required', 'stale_lease', 'internal', 'storage_failed', 'storage_unknown', 'closing'];

interface Followed {
  readonly world: World;
  /** The events that a follower received, and how many were durable then. */
  readonly published: number[];
  readonly restarts: () => number;
}

/** Runs the scenario to its end despite all faults; engines that stop are replaced. */
async function runThrough(disk: Disk): Promise<Followed> {
  const world = await openDespiteFaults(disk);
  const published: number[] = [];
  let restarts = 0;

  async function follow(): Promise<void> {
    const { client } = world.engine;
    try {
      for await (const { position } of client.follow(SESSION)) {
        const head = await must(disk.journal.head(SESSION));
        if (position >= head.version) throw new Error(`position ${position} was published before it was durable`);
        published.push(position);
      }
    } catch (error) {
      if (error instanceof Error && error.message.includes('published')) throw error;
    }
  }

  for (const [index, step] of scenario(disk).entries()) {
    for (let attempt = 0; ; attempt += 1) {
      const code = await Promise.race([step(world.engine.client), disk.died().then(() => 'died' as const)]);
      if (code === 'done') break;
      if (attempt > 3) throw new Error(`step ${index} was refused: ${code}`);
      if (code === 'died') {
        restarts += 1;
        disk.fault = () => null;
        const next = await newWorld(disk, newVirtualClock());
        world.engine = next.engine;
      } else {
        expect(MAY_BE_SENT_AGAIN).toContain(code);
        // A refused request changes neither the durable state nor the state in memory.
        if ((await outcome(world.engine.client.session(SESSION))) === 'done') {
          const { state } = await must(world.engine.client.session(SESSION));
          expect(stateBytes(state)).toEqual(stateBytes(await durable(disk)));
        }
      }
    }
    if (index === 0) void follow();
  }
  await rest();
  return { world, published, restarts: () => restarts };
}

async function openDespiteFaults(disk: Disk): Promise<World> {
  for (;;) {
    try {
      return await newWorld(disk);
    } catch (error) {
      if (!/made to|was lost/.test(String(error))) throw error;
    }
  }
}

async function undisturbed(): Promise<{
  readonly calls: number;
  readonly bytes: Uint8Array;
  readonly names: string[];
}> {
  const disk = newDisk();
  await runThrough(disk);
  return { calls: disk.calls.length, bytes: stateBytes(await durable(disk)), names: disk.calls };
}

describe('the append path', () => {
  test('publishes every event once, in order', async () => {
    const disk = newDisk();
    const { published } = await runThrough(disk);
    expect(published).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  const faults: readonly IoFault[] = ['refused', 'unknown', 'lost_ack', 'throws'];
  test.each(faults)('ends in the same state when any one call of its stores fails (%s)', async (fault) => {
    const { calls, bytes } = await undisturbed();
    for (let k = 1; k <= calls; k += 1) {
      const disk = newDisk();
      disk.fault = ({ nth }) => (nth === k ? fault : null);
      await runThrough(disk);
      expect(stateBytes(await durable(disk)), `call ${k}`).toEqual(bytes);
    }
    expect(calls).toBeGreaterThan(10);
  });

  test.each<IoFault>(['dead_before', 'dead_after'])(
    'ends in the same state when it stops at any call (%s)',
    async (fault) => {
      const { calls, bytes, names } = await undisturbed();
      for (let k = 1; k <= calls; k += 1) {
        // An engine that stops while it opens is tested elsewhere.
        if (k === 1) continue;
        const disk = newDisk();
        disk.fault = ({ nth }) => (nth === k ? fault : null);
        const { restarts } = await runThrough(disk);
        expect(stateBytes(await durable(disk)), `call ${k}: ${names[k - 1] ?? ''}`).toEqual(bytes);
        expect(restarts()).toBeLessThanOrEqual(1);
      }
    },
  );

  test('stays correct through any sequence of faults', async () => {
    expect.hasAssertions();
    const { bytes } = await undisturbed();
    for (let seed = 1; seed <= 30; seed += 1) {
      const random = randomFrom(seed);
      const disk = newDisk();
      let left = 6;
      disk.fault = () => {
        if (left === 0 || !random.oneIn(6)) return null;
        left -= 1;
        return random.pick(['refused', 'unknown', 'lost_ack']);
      };
      const followed = await runThrough(disk).catch((error: unknown) => {
        // Too many faults in a row: a caller would try again later. The durable state is still correct.
        if (!String(error).includes('was refused')) throw error;
        return null;
      });
      const state = await durable(disk).catch(() => null);
      if (followed !== null && state !== null) expect(stateBytes(state), `seed ${seed}`).toEqual(bytes);
    }
  });
});

const run = { kind: 'RunRequested', input: { text: 'go' } } as const;

describe('requests that wait together', () => {
  test('share one append, and each gets its own receipt', async () => {
    const { talk, disk } = await newWorld();
    await talk.create();
    await talk.run();
    const before = disk.calls.filter((name) => name === 'append').length;
    const receipts = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        talk.submit([{ kind: 'FollowUpQueued', follow_up: { input: { text: String(index) } } }]),
      ),
    );
    expect(receipts.map(({ events }) => events[0]?.position)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
    // The first one is appended alone; those that arrive during that append are appended together.
    expect(disk.calls.filter((name) => name === 'append').length - before).toBe(2);
  });

  test('are stepped one by one', async () => {
    const { talk, engine } = await newWorld();
    await talk.create();
    const pause = { kind: 'RunPaused', run_id: 'run-1' } as const;
    const codes = await Promise.all(
      [run, pause, run, pause, { kind: 'RunResumed', run_id: 'run-1' } as const].map((event) => talk.outcome(event)),
    );
    expect(codes).toEqual(['done', 'done', 'run_already_active', 'wrong_phase', 'done']);
    expect((await must(engine.client.session(SESSION))).state.version).toBe(3);
  });

  test('find each other by event id before they are durable', async () => {
    const { talk, engine } = await newWorld();
    await talk.create();
    const event = { ...run, event_id: 'twice' };
    const receipts = await Promise.all([talk.submit([event]), talk.submit([event]), talk.submit([event])]);
    expect(receipts.map(({ events }) => events[0])).toMatchObject([
      { position: 0, repeated: false },
      { position: 0, repeated: true },
      { position: 0, repeated: true },
    ]);
    expect(await must(engine.client.records(SESSION, 0))).toHaveLength(1);
  });

  test('get the first answer for an event sent again that would also be valid as a new one', async () => {
    const { talk, disk } = await newWorld();
    await talk.create();
    const event = { ...run, event_id: 'go' };
    await talk.submit([event]);
    await talk.submit([{ kind: 'RunCompleted', run_id: 'run-1' }]);
    const again = talk.submit([event]);
    const beside = [
      talk.outcome({ kind: 'RunPaused', run_id: 'run-2' }),
      talk.outcome({ kind: 'RunSteered', run_id: 'run-2', input: { text: 'on' } }),
    ];
    expect((await again).events).toMatchObject([{ position: 0, repeated: true }]);
    expect(await Promise.all(beside)).toEqual(['run_not_active', 'run_not_active']);
    // The same together with a new event.
    const { version, events } = await talk.submit([event, { ...run, event_id: 'new' }]);
    expect([version, events.map(({ repeated }) => repeated)]).toEqual([3, [true, false]]);
    expect((await durable(disk)).run).toMatchObject({ run_id: 'run-2' });
  });

  test('are refused under the event id of another fact, durable or not', async () => {
    const { talk, engine } = await newWorld();
    await talk.create();
    const first = { ...run, event_id: 'one' };
    const other = { ...first, input: { text: 'something else' } };
    const kind = { kind: 'ToolProfileSelected', profile_id: 'p', event_id: 'one' } as const;
    const pending = await Promise.all([first, other, kind, first].map((event) => talk.outcome(event)));
    expect(pending).toEqual(['done', 'event_id_reused', 'event_id_reused', 'done']);
    await talk.submit([{ kind: 'RunCompleted', run_id: 'run-1' }]);
    // One that would be valid as a new event, one that would not, and one with fewer fields than the recorded one.
    const cause = { ...first, cause: { kind: 'event' } } as const;
    for (const event of [other, kind, cause]) expect(await talk.outcome(event)).toBe('event_id_reused');
    expect(await talk.outcome(first)).toBe('done');
    const observed = { run_id: 'run-2', turn: 1, kind: 'ToolCallsObserved', event_id: 'observed' } as const;
    await talk.submit([run]);
    const call = { call_id: 'c', tool_name: 'nothing' };
    await talk.submit([{ ...observed, calls: [{ ...call, arguments_text: '{}' }] }]);
    expect(await talk.outcome({ ...observed, calls: [{ ...call, arguments: {} }] })).toBe('done');
    expect(await talk.outcome({ ...observed, calls: [] })).toBe('event_id_reused');
    // Other arguments, in any form, are another fact.
    const blob = await must(engine.client.putBlob(new TextEncoder().encode('{"path": "a"}')));
    const arguments_ref = { ref: blob, bytes: 13, head: '{"path": "a"}', tail: '{"path": "a"}' } as const;
    const given = [{ arguments: { path: 'a' } }, { arguments_text: '{"path":"a"}' }, { arguments_ref }];
    for (const args of given) {
      expect(await talk.outcome({ ...observed, calls: [{ ...call, ...args }] })).toBe('event_id_reused');
    }
    expect(await talk.outcome({ ...observed, calls: [{ ...call, provider_call_id: 'p' }] })).toBe('event_id_reused');
    expect((await must(engine.client.session(SESSION))).state.version).toBe(4);
    await talk.submit([{ kind: 'RunCancelled', run_id: 'run-2' }, run]);
    const more = { ...observed, event_id: 'more', run_id: 'run-3' } as const;
    await talk.submit([{ ...more, calls: [{ ...call, arguments: { path: 'a' } }] }]);
    const codes: string[] = [];
    for (const args of [...given, { arguments: { path: 'b' } }, { arguments_text: '{"path":"a"' }]) {
      codes.push(await talk.outcome({ ...more, calls: [{ ...call, ...args }] }));
    }
    expect(codes).toEqual(['done', 'done', 'done', 'event_id_reused', 'event_id_reused']);
  });

  test('are the same facts without what follows from state', async () => {
    const { talk } = await newWorld();
    await talk.create();
    const { active_tool_batch: batch } = await talk.calls(['x', 'nowhere']);
    const closed = {
      kind: 'ToolBatchSettled',
      event_id: 'closed',
      batch_id: 'batch-1',
      plan_hash: batch?.plan.plan_hash ?? '',
    } as const;
    const ended = { kind: 'ToolCallsObserved', event_id: 'ended', run_id: 'run-1', turn: 2, calls: [] } as const;
    const codes: string[] = [];
    for (const event of [closed, closed, ended, ended]) codes.push(await talk.outcome(event));
    expect(codes).toEqual(['done', 'done', 'done', 'done']);
    expect(await talk.outcome({ ...closed, results_digest: digestText('other') })).toBe('event_id_reused');
    const [, , settled, over] = eventsOf(await must(talk.client.records(SESSION, 0)));
    expect(settled).toMatchObject({ results_digest: resultsDigest(batch as never) });
    expect(settled).not.toHaveProperty('ends');
    expect(over).toMatchObject({ ends: [{ run_id: 'run-1', outcome: 'completed', code: null, message: null }] });
    expect(await talk.outcome({ ...closed, results_digest: resultsDigest(batch as never) })).toBe('done');
  });

  test('fail together when their append fails, and can be sent again', async () => {
    const { talk, disk } = await newWorld();
    await talk.create();
    disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    const first = await Promise.all([talk.outcome(run), talk.outcome({ kind: 'RunPaused', run_id: 'run-1' })]);
    expect(first).toEqual(['storage_failed', 'run_not_active']);
    disk.fault = () => null;
    expect(await talk.outcome(run)).toBe('done');
  });
});

describe('a fault inside the engine', () => {
  test('fails only that request, and the session continues', async () => {
    const { talk, engine, disk } = await newWorld();
    await talk.create();
    // The store throws before the event is stepped.
    const ref = await must(engine.client.putBlob(new TextEncoder().encode('x')));
    disk.fault = ({ name }) => (name === 'ends' ? 'throws' : null);
    const content = { ref, bytes: 1, head: 'x', tail: 'x' };
    const [bad, good] = await Promise.all([talk.outcome({ kind: 'RunRequested', input: content }), talk.outcome(run)]);
    expect([bad, good]).toEqual(['internal', 'done']);
    expect((await durable(disk)).version).toBe(1);
  });

  test('during a write causes the session to be loaded again', async () => {
    const { talk, disk } = await newWorld();
    await talk.create();
    disk.fault = ({ name }) => (name === 'append' ? 'throws' : null);
    const waiting = [talk.outcome({ ...run, event_id: 'r' }), talk.outcome({ kind: 'RunPaused', run_id: 'run-1' })];
    // The second one was not in that write; the session that was loaded again accepts it.
    disk.fault = ({ name, nth }) =>
      name === 'append' && nth < 99 && disk.calls.filter((n) => n === 'append').length === 1 ? 'throws' : null;
    expect(await Promise.all(waiting)).toEqual(['storage_unknown', 'run_not_active']);
    expect(await talk.outcome({ ...run, event_id: 'r' })).toBe('done');
  });

  test('keeps leases while the session is loaded again, and grants what it owes afterwards', async () => {
    const { talk, disk, clock } = await newWorld();
    await talk.create();
    await talk.run();
    expect(await talk.leased(A)).toEqual(['run-1/turn-1']);
    disk.fault = ({ name }) => (name === 'append' ? 'lost_ack' : name === 'read' ? 'refused' : null);
    expect(await talk.outcome({ kind: 'RunPaused', run_id: 'run-1' })).toBe('storage_unknown');
    expect(await talk.lost(A, 'run-1/turn-1')).toEqual([]);
    disk.fault = () => null;
    await clock.advance(2_000);
    // The pause was recorded although its answer was lost: the generate is no longer owed.
    expect(await talk.lost(A, 'run-1/turn-1')).toEqual(['run-1/turn-1']);
    await talk.submit([{ kind: 'RunResumed', run_id: 'run-1' }]);
    expect(await talk.leased(A)).toEqual(['run-1/turn-1']);
  });

  test('shows followers the events whose answer was lost', async () => {
    const { talk, disk, engine } = await newWorld();
    await talk.create();
    await talk.run();
    const events = engine.client.follow(SESSION)[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ position: 0 });
    const next = events.next();
    disk.fault = ({ name }) => (name === 'append' ? 'lost_ack' : null);
    expect(await talk.outcome({ kind: 'RunPaused', run_id: 'run-1' })).toBe('storage_unknown');
    expect((await next).value).toMatchObject({ position: 1, event: { kind: 'RunPaused' } });
    await events.return?.();
  });
});

describe('concurrent requests for a session', () => {
  test('load it once; one before its creation is refused, and later ones are not', async () => {
    const { engine, disk } = await newWorld();
    const early = engine.client.session(SESSION)();
    const created = engine.client.createSession({ session_id: SESSION })();
    const late = engine.client.createSession({ session_id: SESSION })();
    expect(isLeft(await early)).toBe(true);
    expect([(await created)._tag, (await late)._tag]).toEqual(['Right', 'Left']);
    const both = await Promise.all([0, 1].map(() => engine.client.session(SESSION)()));
    expect(both.map(({ _tag }) => _tag)).toEqual(['Right', 'Right']);
    const codes = await Promise.all(
      [0, 1].map(() => outcome(engine.client.submit(SESSION, { events: [ingress({ ...run })] }))),
    );
    expect(codes).toEqual(['done', 'run_already_active']);
    expect(disk.calls.filter((name) => name === 'append')).toHaveLength(1);
  });
});

// Leases on a virtual clock: what happens to work whose bridge stops sending heartbeats, returns, or is unknown.
import { describe, expect, test } from 'vitest';
import type { EffectOfKind } from '../../schemas/effect.ts';
import { callStateOf } from '../../reducers/batch-index.ts';
import type { CallState, SessionState } from '../../schemas/state.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import { ANSWERS_LOST_MAX } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { rest } from '../support/engine/virtual-clock.ts';
import { eventsOf } from '../support/records.ts';
import { A, B, SESSION, TTL_MS, type World, callsIn, newWorld, settled, started } from '../support/engine/world.ts';

type Call = EffectOfKind<'tool.call'>;

const callOf = (state: SessionState, id: string): CallState | undefined =>
  state.active_tool_batch === null ? undefined : callStateOf(state.active_tool_batch, brand<'CallId'>(id));

/** A session with one call of a tool, leased by A; `once` may not be repeated and `free` may. */
async function withCall(tool: 'once' | 'free' | 'barrier'): Promise<{ readonly world: World; readonly call: Call }> {
  const world = await newWorld();
  await world.talk.create();
  await world.talk.calls(['a', tool]);
  const [call] = callsIn(await world.talk.lease(A)) as [Call];
  return { world, call };
}

/** The same, with its start recorded. */
async function withRunning(tool: 'once' | 'free' | 'barrier'): Promise<{ readonly world: World; readonly call: Call }> {
  const given = await withCall(tool);
  await given.world.talk.submit([started(given.call, A)], A);
  return given;
}

const LONG_MS = 3 * TTL_MS;

describe('a lease without heartbeats', () => {
  test('is granted to another bridge after its ttl, and not before', async () => {
    const { world } = await withCall('once');
    const { talk, clock } = world;
    await clock.advance(TTL_MS - 1);
    expect(await talk.leased(B)).toEqual([]);
    const waiting = talk.leased(B, { wait_ms: 20_000 });
    await clock.advance(TTL_MS / 2);
    expect(await waiting).toEqual(['batch-1/a/1']);
    expect(await talk.lost(A, 'batch-1/a/1')).toEqual(['batch-1/a/1']);
  });

  test('on a started call that may be repeated leads to another attempt', async () => {
    const { world, call } = await withRunning('free');
    const { talk, clock } = world;
    await clock.advance(LONG_MS);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'queued', attempt: 2, owner: null });
    expect(await talk.outcome(settled(call), A)).toBe('stale_attempt');
    const [again] = callsIn(await talk.lease(B)) as [Call];
    expect(again.attempt).toBe(2);
    await talk.submit([started(again, B), settled(again)], B);
  });

  test('on a started call that may not be repeated leaves its outcome unknown', async () => {
    const { world, call } = await withRunning('once');
    const { talk, clock } = world;
    await clock.advance(LONG_MS);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'unknown', code: 'outcome_unknown' });
    expect(await talk.outcome(settled(call), A)).toBe('call_already_settled');
    expect(await talk.leased(B)).toEqual(['batch-1/settle']);
  });

  test('is kept while heartbeats come', async () => {
    const { world, call } = await withRunning('once');
    const { talk, clock } = world;
    for (let beat = 0; beat < 20; beat += 1) {
      await clock.advance(TTL_MS / 3);
      expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
    }
    expect(await talk.outcome(settled(call), A)).toBe('done');
  });

  test.each([3_600_000, -3_600_000])('is not affected by a clock that jumps by %d ms', async (ms) => {
    const { world, call } = await withRunning('once');
    const { talk, clock } = world;
    clock.jump(ms);
    await clock.advance(TTL_MS / 2);
    expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
    expect(await talk.outcome(settled(call), A)).toBe('done');
    // Time never goes back within a stream.
    const records = await must(talk.client.records(SESSION));
    const times = eventsOf(records).map(({ at_ms }) => at_ms);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });
});

describe('the loss of a started call', () => {
  test('is recorded later when the journal refuses it now', async () => {
    const { world, call } = await withRunning('once');
    const { talk, clock, disk } = world;
    disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    await clock.advance(LONG_MS);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'running' });
    // Meanwhile no bridge is granted the call, and its former owner may not report.
    expect(await talk.leased(B)).toEqual([]);
    expect(await talk.outcome(settled(call), A)).toBe('stale_lease');
    expect(await talk.lost(A, 'batch-1/a/1')).toEqual(['batch-1/a/1']);
    disk.fault = () => null;
    await clock.advance(LONG_MS);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'unknown' });
  });

  test.each(['unknown', 'lost_ack', 'throws'] as const)('is recorded once when the answer is %s', async (fault) => {
    const { world } = await withRunning('once');
    const { talk, clock, disk } = world;
    let faults = 1;
    disk.fault = ({ name }) => {
      if (name !== 'append' || faults === 0) return null;
      faults -= 1;
      return fault;
    };
    await clock.advance(3 * LONG_MS);
    const records = await must(talk.client.records(SESSION));
    expect(eventsOf(records).filter(({ kind }) => kind === 'LeaseExpired')).toHaveLength(1);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'unknown' });
  });

  test('is reported by the engine, even when its run is cancelled first', async () => {
    const { world, call } = await withRunning('once');
    const { talk, clock, disk } = world;
    await talk.submit([{ kind: 'RunCancelled', run_id: 'run-1' }]);
    disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    await clock.advance(LONG_MS);
    disk.fault = () => null;
    await talk.submit([{ kind: 'FollowUpQueued', follow_up: { input: { text: 'then this' } } }]);
    expect(await talk.lost(A, 'batch-1/a/1')).toEqual(['batch-1/a/1']);
    expect(await talk.outcome(settled(call), A)).toBe('stale_lease');
  });

  test('cannot be prevented by an owner with a name like that of the engine', async () => {
    const { world } = await withRunning('once');
    const { talk, clock, disk } = world;
    disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    await clock.advance(LONG_MS);
    for (const owner of ['refold:engine', 'null', 'engine']) {
      expect(await talk.lost(brand<'OwnerId'>(owner), 'batch-1/a/1')).toHaveLength(1);
    }
  });
});

describe('a request to the model that bridges keep losing', () => {
  /** A session that owes a generate; `lose` has a bridge lease it and lose the lease, for which it returns the effect. */
  async function generating() {
    const world = await newWorld();
    const { talk, clock } = world;
    await talk.create();
    await talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
    let losses = 0;
    const lose = async (): Promise<readonly string[]> => {
      losses += 1;
      const leased = await talk.leased(A);
      // By silence or by a release: a bridge that a crash ended is released by its successor.
      if (losses % 2 === 0) await talk.release(A, leased[0] ?? 'none');
      else await clock.advance(LONG_MS);
      await rest();
      return leased;
    };
    return { world, lose };
  }

  test('fails with the last loss, and the run ends with advice', async () => {
    const { world, lose } = await generating();
    for (let at = 1; at <= ANSWERS_LOST_MAX; at += 1) expect(await lose()).toEqual(['run-1/turn-1']);
    expect(await world.talk.leased(B)).toEqual([]);
    const { run, run_history } = await world.talk.state();
    expect(run).toBeNull();
    expect(run_history.at(-1)?.ending).toMatchObject({
      outcome: 'failed',
      code: 'bridges_lost',
      message: expect.stringContaining('read the logs of the bridges') as string,
    });
  });

  test('is granted to one bridge at a time until then, and an answer ends the count', async () => {
    const { world, lose } = await generating();
    const { talk } = world;
    for (let at = 1; at < ANSWERS_LOST_MAX; at += 1) await lose();
    const calls = [{ call_id: brand<'CallId'>('a'), tool_name: 'free', arguments: {} }];
    expect(await talk.leased(B)).toEqual(['run-1/turn-1']);
    await talk.submit([{ kind: 'ToolCallsObserved', run_id: brand<'RunId'>('run-1'), turn: 1, calls }], B);
    for (let at = 1; at <= ANSWERS_LOST_MAX; at += 1) await lose();
    expect(await talk.state()).toMatchObject({ run: { turn: 1, phase: 'executing' } });
  });

  test('is granted to no bridge while the journal refuses the report', async () => {
    const { world, lose } = await generating();
    const { talk, clock, disk } = world;
    for (let at = 1; at < ANSWERS_LOST_MAX; at += 1) await lose();
    disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
    await lose();
    expect(await talk.leased(B)).toEqual([]);
    disk.fault = () => null;
    await clock.advance(LONG_MS);
    expect((await talk.state()).run).toBeNull();
  });
});

describe('a released lease', () => {
  test('can be granted at once when nothing was started', async () => {
    const { world } = await withCall('once');
    const { talk } = world;
    const waiting = talk.leased(B, { wait_ms: 20_000 });
    await talk.release(A, 'batch-1/a/1');
    expect(await waiting).toEqual(['batch-1/a/1']);
  });

  test('settles a started call that must not be repeated', async () => {
    const { world } = await withRunning('once');
    await world.talk.release(A, 'batch-1/a/1');
    await rest();
    expect(callOf(await world.talk.state(), 'a')).toMatchObject({ status: 'unknown' });
  });

  test('does not affect the leases of others', async () => {
    const { world } = await withRunning('once');
    await world.talk.release(B, 'batch-1/a/1');
    await rest();
    expect(callOf(await world.talk.state(), 'a')).toMatchObject({ status: 'running' });
  });
});

describe('releasing everything of an owner', () => {
  test('frees it at once, or settles what was started and must not be repeated', async () => {
    const world = await newWorld();
    const { talk } = world;
    await talk.create();
    await talk.calls(['a', 'once'], ['b', 'free'], ['c', 'free']);
    const [once, free] = callsIn(await talk.lease(A)) as [Call, Call];
    await talk.submit([started(once, A), started(free, A)], A);
    const waiting = talk.leased(B, { wait_ms: 20_000 });
    // Its waiting requests are granted nothing.
    const dismissed = talk.leased(A, { wait_ms: 20_000 });
    await must(talk.client.release({ owner: A, leases: [], all: true }));
    await rest();
    expect(await dismissed).toEqual([]);
    expect(await waiting).toEqual(['batch-1/c/1']);
    expect(await talk.leased(B)).toEqual(['batch-1/b/2']);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'unknown', code: 'outcome_unknown' });
  });

  test('does not affect the leases of others', async () => {
    const { world, call } = await withRunning('once');
    await must(world.talk.client.release({ owner: B, leases: [], all: true }));
    await rest();
    expect(await world.talk.outcome(settled(call), A)).toBe('done');
  });
});

describe('a restart of the engine', () => {
  test('leaves a call to the bridge that still runs it', async () => {
    const { world, call } = await withRunning('once');
    await world.restart();
    const { talk, clock } = world;
    expect(await talk.leased(B)).toEqual([]);
    for (let beat = 0; beat < 8; beat += 1) {
      await clock.advance(TTL_MS / 3);
      expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
    }
    expect(await talk.outcome(settled(call), B)).toBe('stale_lease');
    expect(await talk.outcome(settled(call), A)).toBe('done');
  });

  test('lets a bridge resume what it had leased and not recorded as started', async () => {
    const { world } = await withCall('free');
    await world.restart();
    expect(await world.talk.lost(A, 'batch-1/a/1')).toEqual([]);
    expect(await world.talk.leased(B)).toEqual([]);
  });

  test('does not wait for a bridge that died', async () => {
    const { world } = await withRunning('once');
    await world.restart();
    const { talk, clock } = world;
    const waiting = talk.leased(B, { wait_ms: 20_000 });
    await clock.advance(LONG_MS);
    expect(await waiting).toEqual(['batch-1/settle']);
  });

  test.each(['paused', 'cancelled', 'interrupted'] as const)(
    'knows the running calls of a run that was %s',
    async (how) => {
      const { world, call } = await withRunning(how === 'interrupted' ? 'barrier' : 'once');
      const kind = { paused: 'RunPaused', cancelled: 'RunCancelled', interrupted: 'user.interrupt' } as const;
      await world.talk.submit([{ kind: kind[how], run_id: 'run-1' }]);
      await world.restart();
      const { talk, clock } = world;
      for (let beat = 0; beat < 5; beat += 1) {
        await clock.advance(TTL_MS / 2);
        expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
      }
      expect(await talk.outcome(settled(call), B)).toBe('stale_lease');
      await clock.advance(LONG_MS);
      const { run, active_tool_batch } = await talk.state();
      expect(run === null || active_tool_batch?.running === 0).toBe(true);
    },
  );
});

describe('a bridge that starts a call', () => {
  test('holds it from then on, with or without a lease', async () => {
    const { world, call } = await withCall('once');
    const { talk, clock } = world;
    // The lease has expired, so A starts the call without one.
    await clock.advance(LONG_MS);
    await talk.submit([started(call, A)], A);
    expect(await talk.outcome(settled(call), B)).toBe('stale_lease');
    await clock.advance(LONG_MS);
    expect(callOf(await talk.state(), 'a')).toMatchObject({ status: 'unknown' });
  });

  test('is the only one that may start it', async () => {
    const { world, call } = await withCall('once');
    const { talk, clock } = world;
    await clock.advance(LONG_MS);
    expect(await talk.leased(B)).toEqual(['batch-1/a/1']);
    expect(await talk.outcome(started(call, A), A)).toBe('stale_lease');
    expect(await talk.outcome(started(call, B), B)).toBe('done');
    expect(await talk.outcome(started(call, A), A)).toBe('stale_lease');
  });
});

describe('a run that ends early', () => {
  const cancels = (talk: World['talk'], owner: OwnerId) => talk.leased(owner, { kinds: ['tool.cancel'] });

  test('owes a cancel to the owner of the call, and to no other bridge', async () => {
    const { world, call } = await withRunning('once');
    const { talk } = world;
    await talk.submit([{ kind: 'RunCancelled', run_id: 'run-1' }]);
    expect(await cancels(talk, B)).toEqual([]);
    expect(await cancels(talk, A)).toEqual(['batch-1/a/1/cancel']);
    // It holds its work until it has reported.
    expect(await talk.lost(A, 'batch-1/a/1', 'batch-1/a/1/cancel')).toEqual([]);
    const { call_id, batch_id, attempt, plan_hash } = call;
    const report = { call_id, batch_id, attempt, plan_hash, result: { success: false }, output: { text: '' } };
    expect(await talk.outcome({ kind: 'ToolCallSettled', ...report, outcome: 'cancelled' }, A)).toBe('done');
    expect((await talk.state()).run_history).toMatchObject([{ ending: { outcome: 'cancelled' } }]);
  });

  test.each(['RunCancelled', 'user.interrupt'] as const)('ends although the bridge has died (%s)', async (kind) => {
    const { world } = await withRunning('once');
    const { talk, clock } = world;
    await talk.submit([{ kind, run_id: 'run-1' }]);
    await clock.advance(LONG_MS);
    expect((await talk.state()).run).toBeNull();
    // No timer is left.
    await clock.advance(LONG_MS);
    expect(clock.pending()).toBe(0);
  });

  test('lets calls that block interrupts continue', async () => {
    const { world } = await withRunning('barrier');
    const { talk } = world;
    await talk.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
    expect(await cancels(talk, A)).toEqual([]);
    expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
  });
});

// Failures around a bridge: lost answers, an engine that is away, lost leases, a bridge that stops.
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import type { Submit } from '../../schemas/wire.ts';
import { SESSION, call, newWorld, resultsOf, statusOf, textOfEntry } from '../support/bridge/harness.ts';

const includes = (kind: string) => (submit: Submit) => submit.events.some((event) => event.kind === kind);

describe('a lost answer', () => {
  test.each(['ToolCallsObserved', 'ToolCallStarted', 'ToolCallSettled', 'ToolBatchSettled'])(
    'to %s: the event is recorded once, and the work is done once',
    async (kind) => {
      const world = newWorld({ turns: [[call('w', 'write', { ms: 5 }), call('v', 'write', { ms: 9 })]] });
      let losses = 2;
      world.engine.fault = (submit) => {
        if (!includes(kind)(submit) || losses === 0) return null;
        losses -= 1;
        return 'lose_ack';
      };
      world.start();
      world.request();
      await world.finish();
      expect(losses).toBe(0);
      expect(world.ran).toHaveLength(2);
      expect(world.engine.of('ToolCallSettled')).toHaveLength(2);
      expect(world.engine.of('ToolCallStarted')).toHaveLength(2);
      expect(statusOf(world)).toBe('completed');
    },
  );
});

describe('a started call that may run twice', () => {
  test.each(['killed', 'stopped'] as const)('of a bridge that is %s runs again as the next attempt', async (how) => {
    const world = newWorld({ turns: [[call('i', 'again', { ms: 5_000 })]] });
    const first = world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    if (how === 'killed') first.kill();
    else await first.stop();
    world.start({ owner: 'bridge-2' });
    await world.finish();
    expect(world.engine.of('ToolCallStarted').map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(world.engine.of('ToolCallSettled').map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [2, 'succeeded'],
    ]);
    expect(statusOf(world)).toBe('completed');
  });
});

describe('an engine that goes away and comes back', () => {
  test('gets the results that finished meanwhile, and no call runs twice', async () => {
    const world = newWorld({
      turns: [[call('w', 'write', { ms: 1_000 }), call('v', 'read', { ms: 50_000 })]],
    });
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 2);
    world.engine.down();
    await world.clock.until(() => world.clock.now() > 1_040_000);
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
    world.engine.up();
    await world.finish();
    expect(world.ran).toHaveLength(2);
    expect(world.ran.map(({ aborted }) => aborted)).toEqual([false, false]);
    expect(resultsOf(world).map(textOfEntry)).toEqual(['ok', 'ok']);
    const events = world.log.map(({ event }) => event);
    expect(events.filter((event) => event === 'reconnecting')).toHaveLength(1);
    expect(events.filter((event) => event === 'reconnected')).toHaveLength(1);
  });

  test('is polled with growing delays of at most five seconds', async () => {
    const world = newWorld();
    world.engine.down();
    world.start();
    await world.clock.until(() => world.clock.now() > 1_600_000);
    world.engine.up();
    world.request();
    const upAt = world.clock.now();
    await world.finish();
    expect(world.clock.now() - upAt).toBeLessThanOrEqual(5_000);
  });

  test('does not get a report again that it refused: the bridge drops the report and continues', async () => {
    const world = newWorld({ turns: [[call('a', 'read', { ms: 10 }), call('b', 'read', { ms: 20 })]] });
    world.engine.fault = (submit) =>
      submit.events.some((event) => event.kind === 'ToolCallSettled' && event.call_id === 'a')
        ? { code: 'call_already_settled', path: '', message: 'the first result is kept' }
        : null;
    world.start();
    world.request();
    await world.clock.until(() => world.engine.of('ToolCallSettled').length === 1);
    expect(world.log).toContainEqual(
      expect.objectContaining({ event: 'report_refused', code: 'call_already_settled' }),
    );
  });
});

describe('cancelling', () => {
  test('stops the running call, which settles as cancelled', async () => {
    const world = newWorld({
      turns: [[call('w', 'write', { ms: 50_000 }), call('r', 'read', { ms: 60_000, path: 'w' })]],
    });
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.record(SESSION, { kind: 'RunCancelled', run_id: brand('run-1') });
    await world.finish();
    expect(statusOf(world)).toBe('cancelled');
    expect(world.ran).toMatchObject([{ call_id: 'w', aborted: true }]);
    expect(world.engine.of('ToolCallSettled')).toMatchObject([
      { call_id: 'w', outcome: 'cancelled', code: 'cancelled' },
    ]);
    expect(world.clock.now() - 1_000_000).toBeLessThan(1_000);
  });

  test('reports a call that succeeds nevertheless as succeeded', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 1_000, does: 'stubborn' })]] });
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.record(SESSION, { kind: 'RunCancelled', run_id: brand('run-1') });
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'succeeded' }]);
  });

  test('a call that this bridge does not hold changes nothing', async () => {
    const world = newWorld({ turns: [[call('r', 'read', { ms: 100 })]] });
    const tamper = world.engine.tamper;
    let granted = false;
    world.engine.tamper = (grant) => {
      const owed = grant.effects.find(({ kind }) => kind === 'tool.call');
      if (granted || owed?.kind !== 'tool.call') return tamper(grant);
      granted = true;
      const cancel = {
        ...owed,
        kind: 'tool.cancel' as const,
        call_id: brand<'CallId'>('unknown'),
        owner: null,
        run_ends: true,
      };
      return { ...grant, effects: [cancel, ...grant.effects] };
    };
    world.start();
    world.request();
    await world.finish();
    expect(granted).toBe(true);
    expect(resultsOf(world).map(textOfEntry)).toEqual(['ok']);
  });
});

describe('a lost lease', () => {
  test('stops the work, whose result is not reported', async () => {
    const world = newWorld({ turns: [[call('r', 'read', { ms: 50_000 })]] });
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.steal(brand('another-bridge'), ({ kind }) => kind === 'tool.call');
    await world.clock.until(() => world.ran[0]?.endedAt !== null);
    await world.clock.settle();
    expect(world.ran[0]?.aborted).toBe(true);
    expect(world.clock.now() - 1_000_000).toBeLessThanOrEqual(5_000);
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
  });

  test('of a call that must not be repeated: its report is refused once the engine has settled it as unknown', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 })]] });
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.expire(({ effect }) => effect.kind === 'tool.call');
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
    expect(textOfEntry(resultsOf(world)[0] ?? { role: 'tool' })).toContain('outcome_unknown');
    await world.clock.until(() => world.ran[0]?.endedAt !== null);
    expect(world.ran).toHaveLength(1);
  });

  test('of a bridge that died after it recorded a start: its successor does not mistake that start for its own', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 })]] });
    const first = world.start({ owner: 'same-name' });
    world.request();
    await world.clock.until(() => world.engine.of('ToolCallStarted').length === 1);
    first.kill();
    world.engine.leases.clear();
    world.start({ owner: 'same-name', seed: 2 });
    await world.clock.until(() => world.log.some(({ event }) => event === 'call_dropped'));
    expect(world.ran).toHaveLength(1);
  });

  test('of a dead bridge: the next one runs only the calls that may run twice', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 }), call('r', 'read', { ms: 50_000 })]] });
    const first = world.start({ owner: 'bridge-dead' });
    world.request();
    await world.clock.until(() => world.ran.length === 2);
    first.kill();
    world.engine.expire(() => true);
    world.start({ owner: 'bridge-next' });
    await world.finish();
    expect(world.ran.map(({ call_id }) => call_id).sort()).toEqual(['r', 'r', 'w']);
    expect(resultsOf(world).map(textOfEntry)).toMatchObject([expect.stringContaining('outcome_unknown'), 'ok']);
  });
});

describe('a bridge that stops', () => {
  test('gives its leases back, and the next one finishes the run', async () => {
    const world = newWorld({ turns: [[call('r', 'read', { ms: 50_000 }), call('q', 'read', { ms: 10 })]] });
    const first = world.start({ owner: 'bridge-a' });
    world.request();
    await world.clock.until(() => world.engine.of('ToolCallSettled').length === 1);
    const before = world.clock.now();
    await first.stop();
    expect(world.clock.now() - before).toBeLessThanOrEqual(2_000);
    expect(world.engine.released).toHaveLength(1);
    world.start({ owner: 'bridge-bb' });
    await world.finish();
    expect(world.ran.map(({ call_id }) => call_id)).toEqual(['r', 'q', 'r']);
    expect(resultsOf(world).map(textOfEntry)).toEqual(['ok', 'ok']);
  });

  test('reports a call whose start is recorded, because no other bridge may run it', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 })]] });
    const first = world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    await first.stop();
    expect(world.engine.of('ToolCallSettled')).toMatchObject([{ call_id: 'w', outcome: 'cancelled' }]);
    world.start({ owner: 'bridge-bb' });
    await world.finish();
    expect(world.ran).toHaveLength(1);
  });

  test('does not wait for a call that ignores its signal, or for an engine that is away', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { does: 'stubborn', ms: 900_000 })]] });
    const first = world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.down();
    const before = world.clock.now();
    await first.stop();
    expect(world.clock.now() - before).toBeLessThanOrEqual(2_500);
  });

  test('ends with an error when the engine refuses to lease', async () => {
    const world = newWorld();
    world.engine.client.lease = () => async () => ({
      _tag: 'Left',
      left: { code: 'unauthorized', path: '', message: 'wrong token' },
    });
    await expect(world.start().done).rejects.toThrow('unauthorized');
  });
});

describe('host sessions', () => {
  const opener = (report: object) => ({
    tools: ['host.session.open'],
    run: () => Promise.resolve(report as never),
  });

  test('are opened before the first turn, with the facts that the tool reports', async () => {
    const world = newWorld({ config: { host_session_open: true } });
    const facts = { host_session_status: 'ready', host_session_id: 'hs-1', sandbox: 'none', workspace: '/w' };
    world.start({ executors: [opener({ success: true, text: 'open', host_session: facts })] });
    world.request();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    expect(world.engine.state(SESSION).tool_runtime_context).toMatchObject({
      host_session_id: 'hs-1',
      host_session_status: 'ready',
      workspace: '/w',
    });
  });

  test.each([
    [{ success: false, code: 'unsupported_target', text: 'no such host' }, 'no such host'],
    [{ nonsense: true }, 'invalid at'],
  ])('that cannot be opened end the run with the reason', async (report, message) => {
    const world = newWorld({ config: { host_session_open: true } });
    world.start({ executors: [opener(report)] });
    world.request();
    await world.finish();
    expect(world.engine.state(SESSION).run_history[0]?.ending).toMatchObject({ code: 'host_session_failed' });
    expect(world.engine.state(SESSION).run_history[0]?.ending.message).toContain(message);
  });

  test('are not leased by a bridge that cannot open them', async () => {
    const world = newWorld({ config: { host_session_open: true } });
    world.start();
    world.request();
    await world.clock.settle();
    expect(world.engine.state(SESSION).run?.phase).toBe('opening');
    expect(world.engine.leases.size).toBe(0);
  });
});

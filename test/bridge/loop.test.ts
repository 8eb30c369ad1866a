import { describe, expect, test } from 'vitest';
import type { Message } from '../../bridge/providers/provider.ts';
import { PNG, attachmentOf } from '../support/attachments.ts';
import { newWorld, SESSION, call, resultsOf, statusOf, textOfEntry } from '../support/bridge/harness.ts';
import { CALL_GRACE_MS } from '../../schemas/limits.ts';

const kinds = (events: readonly { readonly kind: string }[]): string => events.map(({ kind }) => kind).join(' ');

describe('a run', () => {
  test('completes, with every result in call order', async () => {
    const world = newWorld({
      turns: [
        [call('a', 'read', { ms: 30, text: 'A' }), call('b', 'read', { ms: 10, text: 'B' })],
        [call('c', 'solo')],
      ],
    });
    const bridge = world.start();
    world.request();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    expect(resultsOf(world).map((entry) => [entry.call_id, textOfEntry(entry)])).toEqual([
      ['a', 'A'],
      ['b', 'B'],
      ['c', 'ok'],
    ]);
    await bridge.stop();
    expect(world.engine.leases.size).toBe(0);
  });

  test('records the start of a call that is not read-only before it runs, and of no other call', async () => {
    const seen: string[] = [];
    const world = newWorld({
      turns: [[call('w', 'write', { ms: 5, path: 'a' }), call('r', 'read', { path: 'b' }), call('i', 'again')]],
      onRun: ({ engine }, id) => {
        seen.push(`${id}: ${engine.of('ToolCallStarted').some(({ call_id }) => call_id === id)}`);
      },
    });
    const bridge = world.start();
    world.request();
    await world.finish();
    expect(seen.sort()).toEqual(['i: true', 'r: false', 'w: true']);
    expect(world.engine.of('ToolCallStarted')[0]?.owner).toBe(bridge.owner);
  });

  test('does not run a call whose start is refused', async () => {
    const world = newWorld({ turns: [[call('w', 'write')]] });
    world.engine.fault = ({ events }) =>
      events.some(({ kind }) => kind === 'ToolCallStarted')
        ? { code: 'call_not_queued', path: '', message: 'it is running' }
        : null;
    world.start();
    world.request();
    await world.clock.until(() => world.log.some(({ event }) => event === 'call_dropped'));
    expect(world.ran).toEqual([]);
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
  });

  test('reports the end of a batch together with its last settlements', async () => {
    const world = newWorld({ turns: [['a', 'b', 'c'].map((id) => call(id, 'read', { ms: 10 }))] });
    world.start();
    world.request();
    await world.finish();
    const last = world.engine.submits.find(({ events }) => events.some(({ kind }) => kind === 'ToolBatchSettled'));
    expect(kinds(last?.events ?? [])).toBe('ToolCallSettled ToolCallSettled ToolCallSettled ToolBatchSettled');
  });

  test('reports calls that settle together in one group, and one stale report does not prevent the others', async () => {
    const world = newWorld({
      turns: [['a', 'b', 'c', 'd'].map((id) => call(id, 'read', { ms: id === 'd' ? 50 : 10 }))],
    });
    world.engine.fault = ({ events }) => {
      const stale = events.some((event) => event.kind === 'ToolCallSettled' && event.call_id === 'b');
      return stale ? { code: 'stale_attempt', path: '', message: 'given up' } : null;
    };
    world.start();
    world.request();
    await world.clock.until(() => world.ran.length === 4 && world.running() === 0);
    await world.clock.settle();
    expect(world.engine.of('ToolCallSettled').map(({ call_id }) => call_id)).toEqual(['a', 'c', 'd']);
    expect(world.log.filter(({ event }) => event === 'report_refused')).toMatchObject([{ code: 'stale_attempt' }]);
  });

  test('needs fewer than ten submits for a hundred quick calls', async () => {
    const calls = Array.from({ length: 100 }, (_, index) => call(`c${index}`, 'read', { ms: 10 }));
    const world = newWorld({ turns: [calls] });
    world.start();
    world.request();
    await world.finish();
    expect(world.engine.of('ToolCallSettled')).toHaveLength(100);
    expect(world.engine.submits.length).toBeLessThan(10);
  });

  test.each([0, -3, 1.5, Number.NaN])('is refused with a concurrency of %d', async (max) => {
    await expect(newWorld().start({ concurrency: max }).done).rejects.toThrow('at least 1');
  });

  test('is refused with an invalid owner', async () => {
    await expect(newWorld().start({ owner: 'two words' }).done).rejects.toThrow('owner must be 1 to 128');
  });

  test('runs a batch of 600 calls, more than one lease request grants', async () => {
    const calls = Array.from({ length: 600 }, (_, index) => call(`c${index}`, 'read', { ms: 10 }));
    const world = newWorld({ turns: [calls], config: { calls_max: 1_000 } });
    world.start({ concurrency: 50 });
    world.request();
    await world.finish();
    expect(resultsOf(world).length + world.engine.state(SESSION).transcript.sealed.length).toBeGreaterThan(0);
    expect(new Set(world.engine.of('ToolCallSettled').map(({ call_id }) => call_id)).size).toBe(600);
    expect(world.ran).toHaveLength(600);
  });
});

describe('a call that ran before one it must wait for', () => {
  const early = (): ReturnType<typeof newWorld> => {
    const world = newWorld({
      turns: [[call('w', 'write', { path: 'x', ms: 9_000 }), call('r', 'read', { path: 'x' })]],
    });
    world.engine.tamper = (grant) => ({
      ...grant,
      effects: grant.effects.map((owed) => (owed.kind === 'tool.call' ? { ...owed, after: [] } : owed)),
    });
    world.start();
    world.request();
    return world;
  };

  test('is reported again until the other has settled, and runs once', async () => {
    const world = early();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    expect(world.ran.map(({ call_id }) => call_id).sort()).toEqual(['r', 'w']);
    expect(world.engine.of('ToolCallSettled').map(({ call_id }) => call_id)).toEqual(['w', 'r']);
    const refused = world.log.filter((line) => line.event === 'report_refused');
    expect(refused.length).toBeGreaterThan(1);
    expect(refused.length).toBeLessThan(12);
    expect(new Set(refused.map((line) => ('code' in line ? line.code : '')))).toEqual(new Set(['call_not_ready']));
  });

  test('is not reported again after its lease was lost', async () => {
    const world = early();
    await world.clock.until(() => world.log.some(({ event }) => event === 'report_refused'));
    world.engine.steal('thief' as never, (effect) => effect.kind === 'tool.call' && effect.call_id === 'r');
    await world.clock.until(() => world.log.some((line) => 'code' in line && line.code === 'stale_lease'));
    const sent = world.engine.submits.length;
    await world.clock.until(() => world.engine.of('ToolCallSettled').length > 0);
    const reports = world.engine.submits.slice(sent).flatMap(({ events }) => events);
    expect(reports.filter((event) => event.kind === 'ToolCallSettled' && event.call_id === 'r')).toEqual([]);
  });
});

describe('the plan', () => {
  test('starts a call as soon as the calls it conflicts with have settled, before its group is reached', async () => {
    const world = newWorld({
      turns: [
        [
          call('slow', 'write', { path: 'x', ms: 1_000 }),
          call('quick', 'write', { path: 'y', ms: 10 }),
          call('next', 'write', { path: 'y', ms: 10 }),
        ],
      ],
    });
    world.start();
    world.request();
    await world.finish();
    const at = (id: string): number => (world.ran.find(({ call_id }) => call_id === id)?.startedAt ?? 0) - 1_000_000;
    expect([at('slow'), at('quick'), at('next')]).toEqual([0, 0, 10]);
  });

  test("limits concurrent calls to the run's maximum", async () => {
    const calls = Array.from({ length: 12 }, (_, index) => call(`c${index}`, 'read', { ms: 10 }));
    const world = newWorld({ turns: [calls], config: { tool_concurrency_max: 3 } });
    world.start();
    world.request();
    await world.finish();
    expect(world.peak()).toBe(3);
    expect(Math.max(...world.ran.map(({ endedAt }) => endedAt ?? 0))).toBe(1_000_000 + 40);
  });

  test("limits concurrent calls over all sessions to the bridge's maximum", async () => {
    const sessions = ['s-1', 's-2', 's-3'].map((id) => id as typeof SESSION);
    const calls = Array.from({ length: 6 }, (_, index) => call(`c${index}`, 'read', { ms: 10 }));
    const world = newWorld({ turns: [calls], sessions, config: { tool_concurrency_max: 4 } });
    world.start({ concurrency: 5 });
    for (const session of sessions) world.request(session);
    await world.clock.until(() => sessions.every((session) => world.engine.state(session).run === null));
    expect(world.peak()).toBe(5);
    expect(world.ran).toHaveLength(18);
  });

  test('starts a call within 500 ms after a call of another bridge that it waits for', async () => {
    const world = newWorld({
      turns: [[call('theirs', 'other', { path: 'x', ms: 2_000 }), call('mine', 'write', { path: 'x', ms: 10 })]],
    });
    world.start({ owner: 'bridge-a', tools: ['test.*'] });
    world.start({ owner: 'bridge-bb', tools: ['other.*'] });
    world.request();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    const mine = world.ran.find(({ call_id }) => call_id === 'mine');
    expect((mine?.startedAt ?? 0) - 1_002_000).toBeLessThanOrEqual(500);
    expect((mine?.startedAt ?? 0) - 1_002_000).toBeGreaterThanOrEqual(0);
  });

  test.each([
    ['another plan digest', { plan: { plan_hash: `sha256:${'0'.repeat(64)}` } }],
    [
      'a changed plan',
      { plan: { rejected: [{ call_id: 'z', index: 9, tool_name: 'z', code: 'tool_unknown', message: '' }] } },
    ],
    ['changed arguments', { effect: { arguments: { path: 'elsewhere' } } }],
    ['another tool', { effect: { tool_id: 'test.solo' } }],
    ['a start that need not be recorded', { effect: { read_only: true } }],
    ['a call that may run twice', { effect: { repeatable: true } }],
    ['more time than planned', { effect: { timeout_ms: 3_600_000 } }],
    ['a call of another plan', { effect: { plan_hash: `sha256:${'1'.repeat(64)}` } }],
  ])('with %s: the call is not run', async (_, { plan = {}, effect = {} }: { plan?: object; effect?: object }) => {
    const world = newWorld({ turns: [[call('w', 'write')]] });
    world.engine.tamper = (grant) => ({
      ...grant,
      plans: grant.plans.map((leased) => ({ ...leased, plan: { ...leased.plan, ...plan } })),
      effects: grant.effects.map((owed) => (owed.kind === 'tool.call' ? { ...owed, ...effect } : owed)),
    });
    world.start();
    world.request();
    await world.clock.until(
      () => world.log.some(({ event }) => event === 'call_settled' || event === 'report_refused'),
      60_000,
    );
    expect(world.ran).toEqual([]);
    for (const { code } of world.engine.of('ToolCallSettled')) expect(code).toBe('plan_mismatch');
  });

  test('absent from the grant: the call is not run', async () => {
    const world = newWorld({ turns: [[call('w', 'write')]] });
    world.engine.tamper = (grant) => ({ ...grant, plans: [] });
    world.start();
    world.request();
    await world.finish();
    expect(world.ran).toEqual([]);
    expect(textOfEntry(resultsOf(world)[0] ?? { role: 'tool' })).toContain('plan_mismatch');
  });

  test('binds large arguments in a blob: a call whose blob holds other arguments is not run', async () => {
    const text = 'x'.repeat(10_000);
    const world = newWorld({ turns: [[call('w', 'write', { text })], [call('v', 'write', { text })]] });
    world.engine.tamper = (grant) => ({
      ...grant,
      effects: grant.effects.map((owed) => {
        if (owed.kind !== 'tool.call' || owed.call_id !== 'v') return owed;
        const ref = world.engine.putText(JSON.stringify({ path: 'v', text: 'other' }));
        return { ...owed, arguments_ref: { ref, bytes: 1, head: '', tail: '' } };
      }),
    });
    world.start();
    world.request();
    await world.finish();
    expect(world.ran.map(({ call_id }) => call_id)).toEqual(['w']);
    expect(world.engine.of('ToolCallSettled').map(({ code }) => code)).toEqual([undefined, 'plan_mismatch']);
  });
});

describe('a tool that misbehaves is a failed call', () => {
  test.each([
    ['throw', 'tool_threw', 'the disk is on fire'],
    ['fail', 'not_found', 'no such file'],
    ['surrogate', 'invalid_output', '/text'],
    ['not_json', 'invalid_output', '/data'],
    ['not_object', 'invalid_output', 'must be an object'],
  ] as const)('%s → %s', async (does, code, message) => {
    const world = newWorld({ turns: [[call('x', 'write', { does }), call('y', 'read')]] });
    world.start();
    world.request();
    await world.finish();
    expect(statusOf(world)).toBe('completed');
    const settled = world.engine.of('ToolCallSettled').find(({ call_id }) => call_id === 'x');
    expect(settled).toMatchObject({ outcome: 'failed', code });
    expect(textOfEntry(resultsOf(world)[0] ?? { role: 'tool' })).toContain(message);
  });

  test('one that hangs is stopped at its time limit', async () => {
    const world = newWorld({ turns: [[call('x', 'read', { does: 'hang' })]] });
    world.start();
    world.request();
    await world.finish();
    expect(world.engine.of('ToolCallSettled')[0]).toMatchObject({ code: 'timeout', duration_ms: 60_000 });
    expect(textOfEntry(resultsOf(world)[0] ?? { role: 'tool' })).toContain('partial output');
  });

  test('one that ignores its signal is abandoned after the grace period', async () => {
    const world = newWorld({ turns: [[call('x', 'read', { does: 'stubborn', ms: 900_000 })]] });
    world.start();
    world.request();
    await world.finish();
    expect(world.engine.of('ToolCallSettled')[0]).toMatchObject({
      outcome: 'failed',
      code: 'timeout',
      duration_ms: 60_000 + CALL_GRACE_MS,
    });
  });

  test('one without an executor is not leased', async () => {
    const world = newWorld({ turns: [[call('x', 'read')]] });
    world.start({ executors: [{ tools: ['test.solo'], run: () => Promise.reject(new Error('unused')) }] });
    world.engine.tamper = (grant) => grant;
    world.request();
    await world.clock.settle();
    expect(world.engine.of('ToolCallSettled')).toEqual([]);
  });

  test.each(['invalid_shape', 'content_mismatch', 'unknown_blob'] as const)(
    'one whose result the engine refuses as %s settles as invalid_output',
    async (code) => {
      const world = newWorld({ turns: [[call('x', 'read')]] });
      let refusals = 1;
      world.engine.fault = ({ events }) => {
        if (!events.some(({ kind }) => kind === 'ToolCallSettled')) return null;
        if (refusals > 2) return null;
        refusals += 1;
        return { code, path: '/events/0/result', message: 'no' };
      };
      world.start();
      world.request();
      await world.finish();
      expect(world.engine.of('ToolCallSettled')[0]).toMatchObject({ code: 'invalid_output', outcome: 'failed' });
    },
  );
});

test('the files that a result comes with are recorded, and go to the model with it', async () => {
  const asked: (readonly Message[])[] = [];
  const world = newWorld();
  world.start({
    executors: [
      {
        tools: ['*'],
        run: async (_call, _args, { putBlob }) => {
          const ref = await putBlob(PNG);
          const attachment = { ref, bytes: PNG.length, media_type: 'image/png' as const, name: 'shot.png' };
          return { success: true, text: 'taken', attachments: [attachment] };
        },
      },
    ],
    provider: {
      generate: ({ turn, messages }) => {
        asked.push(messages);
        return Promise.resolve(turn === 1 ? { calls: [call('x', 'read')] } : { content: 'seen', calls: [] });
      },
    },
  });
  world.request();
  await world.finish();
  const attachments = [attachmentOf(PNG, 'image/png', 'shot.png')];
  expect(world.engine.of('ToolCallSettled')).toMatchObject([{ outcome: 'succeeded', attachments }]);
  const shown = [{ media_type: 'image/png', name: 'shot.png', bytes: PNG }];
  expect(asked[1]?.at(-1)).toMatchObject({ role: 'tool', text: 'taken', attachments: shown });
});

describe('outputs', () => {
  test('that are long become blobs with head and tail', async () => {
    const text = `first ${'é'.repeat(6_000)} last`;
    const world = newWorld({ turns: [[call('x', 'read', { text })]] });
    world.start();
    world.request();
    await world.finish();
    const output = world.engine.of('ToolCallSettled')[0]?.output;
    expect(output).toMatchObject({ bytes: Buffer.byteLength(text), head: text.slice(0, 512), tail: text.slice(-512) });
    const ref = output !== undefined && 'ref' in output ? output.ref : undefined;
    expect(ref === undefined ? '' : Buffer.from(world.engine.blobs.get(ref) ?? []).toString()).toBe(text);
  });

  test("are cut to the tool's maximum, and the cut names the blob that holds the whole", async () => {
    const text = `begin ${'z'.repeat(2_000)} end`;
    const world = newWorld({ turns: [[call('x', 'tiny', { text })]] });
    world.start();
    world.request();
    await world.finish();
    const shown = textOfEntry(resultsOf(world)[0] ?? { role: 'tool' });
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(400);
    expect(shown).toMatch(
      /^begin z+\n\[\d+ bytes cut here; the whole output is blob (sha256:[0-9a-f]{64}), 2010 bytes\]\nz+ end$/,
    );
    const ref = /sha256:[0-9a-f]{64}/.exec(shown)?.[0] ?? '';
    expect(Buffer.from(world.engine.blobs.get(ref as never) ?? []).toString()).toBe(text);
  });
});

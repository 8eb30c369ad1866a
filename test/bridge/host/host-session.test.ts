// What a host does for every call of any tool, and the life of its session.
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import {
  HOST_SESSION_STEPS,
  type HostSessionPhase,
  type HostSessionStep,
  createHostSession,
  createHostSessions,
} from '../../../bridge/host/host-session.ts';
import { HOST_SESSIONS_MAX } from '../../../schemas/limits.ts';
import { HOST_TOOLS } from '../../../bridge/host/host-tools.ts';
import { until } from '../../support/host/condition.ts';
import { type TestHost, callContext, makeHost } from '../../support/host/workspace.ts';

const hosts: TestHost[] = [];
const open = async (...args: Parameters<typeof makeHost>): Promise<TestHost> => {
  const host = await makeHost(...args);
  hosts.push(host);
  return host;
};
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.end();
});

const TOOLS = [...HOST_TOOLS.keys()];

describe('a host', () => {
  test('has every tool of the table', async () => {
    const host = await open();
    expect(TOOLS.filter((id) => !host.has(id))).toEqual([]);
  });

  test('refuses a tool that it does not have', async () => {
    const host = await open();
    expect(host.has('toString')).toBe(false);
    expect(await host.call('host.fs.format_disk', {})).toMatchObject({ success: false, code: 'unknown_tool' });
  });

  test.each(TOOLS)('%s returns an outcome for malformed arguments, and never rejects', async (id) => {
    const host = await open();
    const malformed = [
      null,
      [],
      'text',
      7,
      { path: 7 },
      { path: '\ud800' },
      { argv: [1] },
      { argv: 'ls' },
      { patch: null },
    ];
    for (const args of [
      ...malformed,
      { pattern: {} },
      { signal: 'explode' },
      { path: 'a', max_bytes: -1 },
      { target: 3 },
    ]) {
      const outcome = await host.call(id, args as never);
      expect(outcome.text).not.toBe('');
      expect(outcome.text).toContain(outcome.success ? '' : outcome.code);
    }
  });

  test.each([
    ['host.fs.read_file', {}, "'path'"],
    ['host.exec', {}, "'argv'"],
    ['host.fs.write_file', { path: 'a' }, "'text'"],
    ['host.fs.write_file', { path: 'a', text: 'x', mode: 'append' }, "'mode'"],
    ['host.fs.grep', { pattern: 'x', max_results: 1.5 }, "'max_results'"],
    ['host.fs.edit_file', { path: 'a', old_string: 'x', new_string: 'y', replace_all: 'yes' }, "'replace_all'"],
    ['host.session.signal', {}, "'signal'"],
  ])('%s with the arguments %j names the wrong field', async (id, args, field) => {
    const host = await open({ a: 'x' });
    const outcome = await host.call(id, args);
    expect(outcome).toMatchObject({ success: false, code: 'tool_invalid_args' });
    expect(outcome.text).toContain(field);
  });

  test('a call that is cancelled before it starts does not run', async () => {
    const host = await open();
    const signal = AbortSignal.abort();
    const outcome = await host.call('host.fs.write_file', { path: 'a', text: 'x' }, { signal });
    expect(outcome).toMatchObject({ success: false, code: 'cancelled' });
    expect(host.workspace.list()).toEqual([]);
  });

  test('after close, calls are refused; a second close has no effect', async () => {
    const host = await open({ a: 'x' });
    await host.close();
    await host.close();
    expect(await host.call('host.fs.stat', { path: 'a' })).toMatchObject({ success: false, code: 'host_closed' });
  });
});

describe('host.session.open', () => {
  test('opens a session and returns its facts', async () => {
    const host = await open();
    const outcome = await host.call('host.session.open', { session_ttl_ms: 5_000, labels: { who: 'test' } });
    expect(outcome.success).toBe(true);
    expect(outcome.hostSession).toMatchObject({
      host_session_status: 'ready',
      expires_at_ms: 6_000,
      sandbox: host.sandbox,
      workspace: host.workspace.path,
    });
    expect(outcome.hostSession?.host_session_id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('refuses an unsupported target, and leaves an open session open', async () => {
    const host = await open();
    const first = await host.call('host.session.open', { target: { sandbox: { image: 'x' } } });
    expect(first).toMatchObject({ success: false, code: 'unsupported_target' });
    expect(first.hostSession?.host_session_status).toBe('error');
    expect(await host.call('host.session.open', { target: { local: { network_mode: 'none' } } })).toMatchObject({
      success: true,
    });
    const again = await host.call('host.session.open', { target: { sandbox: {} } });
    expect(again.hostSession).toBeUndefined();
    expect(await host.call('host.fs.exists', { path: 'a' })).toMatchObject({ success: true });
  });
});

describe('the host session', () => {
  test('the first call of a process adopts the session in state, and reports it once', async () => {
    const host = await open({ a: 'x' });
    const first = await host.call('host.fs.exists', { path: 'a' });
    expect(first.hostSession).toEqual({ host_session_status: 'ready', ...host.place });
    expect(host.place).toMatchObject({ sandbox: host.sandbox, workspace: host.workspace.path });
    expect((await host.call('host.fs.exists', { path: 'a' })).hostSession).toBeUndefined();
  });

  test('adoption is reported also when the call itself fails', async () => {
    const host = await open();
    const first = await host.call('host.fs.read_file', { path: 'missing' });
    expect(first).toMatchObject({ success: false, code: 'not_found', hostSession: { host_session_status: 'ready' } });
  });

  test('after its time to live, every call is refused as expired until a new session is opened', async () => {
    let now = 1_000;
    const host = await open({ a: 'x' }, { now: () => now });
    await host.call('host.session.open', { session_ttl_ms: 10 });
    now = 1_009;
    expect(await host.call('host.fs.stat', { path: 'a' })).toMatchObject({ success: true });
    now = 1_010;
    for (const id of ['host.fs.stat', 'host.session.signal']) {
      expect(await host.call(id, { path: 'a', signal: 'term' })).toMatchObject({
        success: false,
        code: 'session_expired',
        hostSession: { host_session_status: 'expired' },
      });
    }
    expect(await host.call('host.session.open', {})).toMatchObject({ success: true });
    expect(await host.call('host.fs.stat', { path: 'a' })).toMatchObject({ success: true });
  });

  test('after it is closed, every tool but open is refused', async () => {
    const host = await open();
    await host.call('host.session.open', {});
    const closed = await host.call('host.session.signal', { signal: 'close' });
    expect(closed).toMatchObject({ success: true, hostSession: { host_session_status: 'closed' } });
    for (const id of TOOLS.filter((tool) => tool !== 'host.session.open')) {
      expect(await host.call(id, {})).toMatchObject({
        success: false,
        code: 'session_closed',
        hostSession: { host_session_status: 'closed' },
      });
    }
  });

  test('a signal to a session that runs no command succeeds', async () => {
    const host = await open();
    expect(await host.call('host.session.signal', { signal: 'term' })).toMatchObject({
      success: true,
      data: { signal: 'term', ended: 0 },
    });
  });

  test('every step of the table has the effect that the table states', () => {
    const reach: Readonly<Record<HostSessionPhase, readonly HostSessionStep[]>> = {
      unused: [],
      ready: ['open'],
      closed: ['open', 'close'],
      expired: ['open', 'expire'],
    };
    for (const [from, steps] of Object.entries(HOST_SESSION_STEPS)) {
      for (const [step, to] of Object.entries(steps)) {
        let now = 0;
        const session = createHostSession(() => now, {});
        const take = (name: HostSessionStep): boolean => {
          if (name === 'expire') now = 100;
          try {
            if (name === 'open') session.open(10);
            else if (name === 'close') session.close();
            else session.use();
            return true;
          } catch {
            return name === 'expire';
          }
        };
        for (const name of reach[from as HostSessionPhase]) take(name);
        expect(session.phase()).toBe(from);
        // Time is not a step of the code: it can end only a session that is ready.
        if (step === 'expire' && from !== 'ready') continue;
        expect(take(step as HostSessionStep)).toBe(to !== null);
        expect(session.phase()).toBe(to ?? from);
      }
    }
  });
});

test('a call with limits of zero still succeeds', async () => {
  const host = await open({ a: 'x'.repeat(5_000) });
  const context = { ...callContext(), outputBytesMax: 0, timeoutMs: 0 };
  expect(await host.run('host.fs.read_file', { path: 'a' }, context)).toMatchObject({ success: true });
});

describe('the sessions of the engine that one host serves', () => {
  test('a signal ends the commands of its own session alone, and closes no other', async () => {
    const host = await open();
    const [one, two] = [{ sessionId: 'one' }, { sessionId: 'two' }];
    const run = (name: string, context: { readonly sessionId: string }) =>
      host.call(
        'host.exec',
        { argv: ['sh', '-c', `touch ${name}; while [ ! -e go ]; do sleep 0.02; done; echo whole`] },
        context,
      );
    const [ofOne, ofTwo] = [run('a', one), run('b', two)];
    await until('both run', () => ['a', 'b'].every((name) => existsSync(host.workspace.at(name))));
    expect(await host.call('host.session.signal', { signal: 'kill' }, one)).toMatchObject({ data: { ended: 1 } });
    expect(await ofOne).toMatchObject({ success: false, code: 'signaled' });
    expect(await host.call('host.session.signal', { signal: 'close' }, one)).toMatchObject({ data: { ended: 0 } });
    host.workspace.write('go', '');
    expect((await ofTwo).text).toContain('whole');
    expect(await host.call('host.fs.list_dir', {}, one)).toMatchObject({ code: 'session_closed' });
    expect(await host.call('host.fs.list_dir', {}, two)).toMatchObject({ success: true });
  });

  test('each have a host session of their own, which expires on its own', () => {
    let now = 0;
    const sessions = createHostSessions(() => now, {});
    sessions.of('one').open(10);
    sessions.of('two').open(undefined);
    now = 10;
    expect(() => sessions.of('one').use()).toThrow('has expired');
    expect(sessions.of('two').use()).toBeNull();
  });

  test('are remembered up to a maximum; a forgotten one is adopted again', () => {
    const sessions = createHostSessions(() => 0, {});
    sessions.of('first').open(undefined);
    sessions.of('kept').open(undefined);
    for (let count = 1; count < HOST_SESSIONS_MAX; count += 1) {
      sessions.of(`other-${count}`);
      sessions.of('kept');
    }
    expect([sessions.of('kept').phase(), sessions.of('first').phase()]).toEqual(['ready', 'unused']);
    expect(sessions.of('first').use()).toMatchObject({ host_session_status: 'ready' });
  });
});

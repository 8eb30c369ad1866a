// host.exec, at every sandbox level that works on this machine.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import type { HostOutcome } from '../../../bridge/host/outcome.ts';
import { commandIdentity } from '../../../bridge/host/exec/command-identity.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { until } from '../../support/host/condition.ts';
import { newMarker, processesNaming } from '../../support/processes.ts';
import { type TestHost, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

const probe = await makeHost();
const levels = probe.sandbox === 'bwrap' ? (['bwrap', 'none'] as const) : (['none'] as const);
if (probe.sandbox !== 'bwrap') process.stderr.write(`bwrap is NOT tested on this machine: ${probe.sandboxNote}\n`);
await probe.end();

const isRoot = process.getuid?.() === 0;

describe.each(levels)('host.exec with sandbox %s', (sandbox) => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({ 'notes/token.txt': 'cmd-7349\n', 'src/x.txt': 'x' }, { sandbox });
  });
  afterAll(() => host.end());
  const exec = (args: JsonObject, context = {}): Promise<HostOutcome> => host.call('host.exec', args, context);
  const sh = (script: string, more: JsonObject = {}, context = {}): Promise<HostOutcome> =>
    exec({ argv: ['sh', '-c', script], ...more }, context);

  test('runs a command and returns its output', async () => {
    const outcome = await exec({ argv: ['cat', 'notes/token.txt'] });
    expect(outcome).toMatchObject({
      success: true,
      data: { exit_code: 0, stdout_bytes: 9, stderr_bytes: 0, truncated: false },
    });
    expect(outcome.text).toBe('exit code 0\n[stdout]\ncmd-7349\n');
    expect(outcome.spill).toBeUndefined();
  });

  test('a non-zero exit code is a successful call', async () => {
    const outcome = await sh('echo out; echo err >&2; exit 7');
    expect(outcome).toMatchObject({ success: true, data: { exit_code: 7 } });
    expect(outcome.text).toBe('exit code 7\n[stdout]\nout\n\n[stderr]\nerr\n');
    expect((await sh('true')).text).toBe('exit code 0\n(no output)');
  });

  test('passes stdin; a command that does not read it still succeeds', async () => {
    expect((await exec({ argv: ['cat'], stdin: 'from-stdin' })).text).toContain('from-stdin');
    expect(await exec({ argv: ['true'], stdin: 'x'.repeat(500_000) })).toMatchObject({ success: true });
    expect((await exec({ argv: ['cat'] })).text).toContain('(no output)');
  });

  test('runs in the workspace or in a directory of it, at its real path', async () => {
    expect((await exec({ argv: ['pwd', '-P'] })).text).toContain(`${host.workspace.path}\n`);
    expect((await exec({ argv: ['pwd', '-P'], cwd: 'src' })).text).toContain(`${host.workspace.path}/src\n`);
    expect((await sh('echo new > made.txt && cat made.txt', { cwd: 'src' })).text).toContain('new');
    expect(host.workspace.read('src/made.txt')).toBe('new\n');
  });

  test('refuses a working directory outside the workspace, and one that is not a directory', async () => {
    symlinkSync('/etc', host.workspace.at(`etc-${sandbox}`));
    for (const [cwd, code] of [
      ['..', 'forbidden'],
      ['/etc', 'forbidden'],
      [`etc-${sandbox}`, 'forbidden'],
      ['none', 'not_found'],
      ['src/x.txt', 'not_directory'],
    ]) {
      expect(await exec({ argv: ['pwd'], cwd: cwd ?? '' })).toMatchObject({ success: false, code });
    }
  });

  test('has only the fixed environment variables and those that the call adds', async () => {
    process.env['REFOLD_TEST_LEAK'] = 'leaked';
    const lines = async (env: JsonObject): Promise<readonly string[]> =>
      (await exec({ argv: ['env'], env })).text
        .split('\n')
        .filter((line) => line.includes('=') && !line.startsWith('PWD='))
        .sort();
    const names = async (env: JsonObject): Promise<readonly string[]> =>
      (await lines(env)).map((line) => line.split('=')[0] ?? '');
    expect(await names({})).toEqual(['HOME', 'LANG', 'PATH', 'TERM']);
    expect(await lines({})).toEqual(expect.arrayContaining(['HOME=/tmp', 'LANG=C.UTF-8', 'TERM=dumb']));
    expect(await names({ MINE: '1' })).toEqual(['HOME', 'LANG', 'MINE', 'PATH', 'TERM']);
    delete process.env['REFOLD_TEST_LEAK'];
  });

  test('leaves out variables that look like secrets, and reports their names', async () => {
    const env = { A_API_KEY: '1', b_token: '2', C_PASSWORD: '3', D_SECRET: '4', E_CREDENTIAL: '5', FINE: '6' };
    const outcome = await exec({ argv: ['env'], env });
    expect(outcome.data?.['env_dropped']).toEqual(['A_API_KEY', 'b_token', 'C_PASSWORD', 'D_SECRET', 'E_CREDENTIAL']);
    expect(outcome.text).toContain('[environment variables not passed on: A_API_KEY,');
    expect(outcome.text).toContain('FINE=6');
    expect(outcome.text).not.toContain('C_PASSWORD=3');
  });

  test.each([
    { LD_PRELOAD: '/x.so' },
    { LD_LIBRARY_PATH: '/x' },
    { NODE_OPTIONS: '--require x' },
    { BASH_ENV: 'x' },
    { OPTIND: 'x' },
    { SHELLOPTS: 'xtrace' },
    { 'A=B': 'x' },
    { '': 'x' },
    { N: 7 },
    { N: 'a\0b' },
  ])('refuses the environment %j', async (env) => {
    expect(await exec({ argv: ['env'], env })).toMatchObject({
      success: false,
      code: 'tool_invalid_args',
    });
  });

  test('never runs as root or with root’s groups', async () => {
    const outcome = await sh('id -u; id -G');
    const [uid, groups] = outcome.text.split('\n').slice(2);
    expect(uid).not.toBe('0');
    const mine = isRoot ? '65534' : String(process.getuid?.());
    expect([uid, isRoot ? groups : mine]).toEqual([mine, mine]);
  });

  test('`node` is the running node, and its test runner works', async () => {
    expect((await exec({ argv: ['node', '--version'] })).text).toContain(process.version);
    host.workspace.write('unit/a.test.mjs', "import test from 'node:test';\ntest('works', () => {});\n");
    const outcome = await exec({ argv: ['node', '--test'], cwd: 'unit' });
    expect(outcome.text).toContain('# pass 1');
    expect(outcome).toMatchObject({ success: true, data: { exit_code: 0 } });
  });

  test.each([
    [{ argv: [] }, 'argv_empty'],
    [{ argv: [''] }, 'argv_empty'],
    [{ argv: ['no-such-program-here'] }, 'spawn_failed'],
    [{ argv: ['echo', 'a\0b'] }, 'tool_invalid_args'],
    [{ argv: ['echo', 'x'.repeat(200_000)] }, 'tool_invalid_args'],
    [{ argv: Array.from({ length: 2_000 }, () => 'x') }, 'tool_invalid_args'],
    [{ argv: ['true'], timeout_ms: 0 }, 'tool_invalid_args'],
  ])('refuses arguments %#: %s', async (args, code) => {
    expect(await exec(args)).toMatchObject({ success: false, code });
  });

  test('a path without a program is reported by the operating system', async () => {
    const outcome = await exec({ argv: ['./missing'] });
    expect(outcome.success ? outcome.data?.['exit_code'] : outcome.code).toSatisfy(
      (code) => code === 127 || code === 'spawn_failed',
    );
  });

  describe('a command ends', () => {
    test('after timeout_ms, with the output it has written by then', async () => {
      const outcome = await sh('echo early; sleep 100', { timeout_ms: 150 });
      expect(outcome).toMatchObject({ success: false, code: 'timeout' });
      expect(outcome.text).toContain('after 150 ms');
      expect(outcome.text).toContain('early');
    });

    test('after the caller’s time limit, even if timeout_ms is longer', async () => {
      expect(await sh('sleep 100', { timeout_ms: 100_000 }, { timeoutMs: 50 })).toMatchObject({ code: 'timeout' });
    });

    test('when the call is cancelled', async () => {
      const controller = new AbortController();
      const running = sh('touch started-$0; sleep 100', {}, { signal: controller.signal });
      await until('the command started', () => host.workspace.list().some((name) => name.startsWith('started-')));
      controller.abort();
      expect(await running).toMatchObject({ success: false, code: 'cancelled' });
    });

    test('by a signal to itself: signaled', async () => {
      const outcome = await sh('kill -9 $$');
      expect(outcome).toMatchObject({ success: false, code: 'signaled', data: { signal: 'SIGKILL' } });
    });

    test('when the session is signalled, with SIGTERM first', async () => {
      const running = sh('trap "echo warned; exit 5" TERM; touch trapped; while :; do sleep 0.02; done');
      await until('the command started', () => existsSync(host.workspace.at('trapped')));
      expect(await host.call('host.session.signal', { signal: 'term' })).toMatchObject({
        success: true,
        data: { ended: 1 },
      });
      const outcome = await running;
      expect(outcome).toMatchObject({ success: false, code: 'signaled', data: { exit_code: 5 } });
      expect(outcome.text).toContain('warned');
    });

    test('by SIGKILL when it ignores SIGTERM', async () => {
      const marker = newMarker();
      const running = sh(`trap "" TERM; touch deaf; while :; do sleep 0.02; done # ${marker}`);
      await until('the command started', () => existsSync(host.workspace.at('deaf')));
      await host.call('host.session.signal', { signal: 'term', grace_timeout_ms: 50 });
      expect(await running).toMatchObject({ success: false, code: 'signaled' });
      await until('no process is left', () => processesNaming(marker).length === 0);
    });

    test('together with its whole process group', async () => {
      const marker = newMarker();
      const outcome = await sh(`(sh -c 'sleep 1000 # ${marker}' & sh -c ': ${marker}; sleep 1000' & wait)`, {
        timeout_ms: 200,
      });
      expect(outcome).toMatchObject({ code: 'timeout' });
      await until('no process is left', () => processesNaming(marker).length === 0);
    });

    test('when it exits, even if a background process holds its output open', async () => {
      const marker = newMarker();
      const started = performance.now();
      const outcome = await sh(`echo done; sh -c ': ${marker}; sleep 1000' & exit 0`);
      expect(outcome).toMatchObject({ success: true, data: { exit_code: 0 } });
      expect(outcome.text).toContain('done');
      expect(performance.now() - started).toBeLessThan(8_000);
      await until('no process is left', () => processesNaming(marker).length === 0);
    });

    test('when it exits, even if a process in another session holds its output open', async () => {
      const marker = newMarker();
      const outcome = await sh(`echo done; setsid sh -c ': ${marker}; sleep 3' & sleep 0.1; exit 0`);
      expect(outcome).toMatchObject({ success: true, data: { exit_code: 0 } });
      // Only a PID namespace contains such a process; without one it runs until it ends.
      if (sandbox === 'bwrap') await until('no process is left', () => processesNaming(marker).length === 0);
      else process.stderr.write('only bwrap ends a setsid grandchild; at level none it survives\n');
    });
  });

  describe('large output', () => {
    test('of 10 MB is returned as head and tail, and kept whole in a file', async () => {
      const outcome = await sh(
        "echo FIRST; head -c 10000000 /dev/zero | tr '\\0' 'x'; echo; echo LAST",
        {},
        { outputBytesMax: 100_000 },
      );
      expect(outcome).toMatchObject({
        success: true,
        data: { exit_code: 0, stdout_bytes: 10_000_012, truncated: true },
      });
      expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(100_000);
      expect(outcome.text).toMatch(/^exit code 0\n\[stdout\]\nFIRST\nx+\n\[… \d+ bytes left out …\]\nx+\nLAST\n$/);
      const { path, bytes } = outcome.spill ?? { path: '', bytes: 0 };
      expect(statSync(path).size).toBe(bytes);
      const whole = readFileSync(path, 'utf8');
      expect(whole.length).toBe('exit code 0\n[stdout]\n'.length + 10_000_012 + 1);
      expect(whole).toMatch(/LAST\n\n$/);
    });

    test('without end is read until the timeout, and does not fill the disk', async () => {
      const outcome = await exec({ argv: ['yes'], timeout_ms: 700 });
      expect(outcome).toMatchObject({ success: false, code: 'timeout', data: { truncated: true } });
      expect(outcome.spill?.bytes ?? 0).toBeLessThanOrEqual(16 * 1_048_576);
    });

    test('on both streams shares the allowed size', async () => {
      const outcome = await sh(
        "head -c 50000 /dev/zero | tr '\\0' 'o'; head -c 50000 /dev/zero | tr '\\0' 'e' >&2",
        {},
        { outputBytesMax: 20_000 },
      );
      expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(20_000);
      expect(outcome.text).toMatch(/\[stdout\]\no+\n\[….*\n\[stderr\]\ne+\n\[…/s);
    });

    test('that is not text is returned well formed and within the allowed size', async () => {
      const outcome = await sh('head -c 60000 /dev/urandom', {}, { outputBytesMax: 30_000 });
      expect(outcome.text.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(30_000);
    });
  });

  test('a long command reports progress, a short one only its end', async () => {
    const progress: string[] = [];
    const onProgress = (text: string): void => {
      progress.push(text);
      writeFileSync(host.workspace.at(`go-${sandbox}`), '');
    };
    await sh('echo short', {}, { onProgress });
    expect(progress).toEqual([]);
    const outcome = await sh(
      `echo working; while [ ! -e go-${sandbox} ]; do sleep 0.02; done; echo finished`,
      {},
      { onProgress },
    );
    expect(progress).toEqual(['working\n']);
    expect(outcome.text).toContain('finished');
  });

  test('commands above the limit are refused while others run', async () => {
    const running = Array.from({ length: 66 }, () => exec({ argv: ['sleep', '1000'] }));
    const refused = await Promise.all(running.slice(64));
    expect(refused.map(({ code }) => code)).toEqual(['too_many_commands', 'too_many_commands']);
    expect(await host.call('host.session.signal', { signal: 'kill' })).toMatchObject({ data: { ended: 64 } });
    expect((await Promise.all(running)).filter(({ code }) => code === 'signaled' || code === 'cancelled')).toHaveLength(
      64,
    );
  });

  test('leaves no file descriptor open', async () => {
    const count = (): number => readdirSync('/proc/self/fd').length;
    await sh('true');
    const before = count();
    for (let n = 0; n < 5; n += 1) await sh('echo x; exit 1', { stdin: 'y' });
    await until('the pipes are closed', () => count() <= before);
    expect(count()).toBeLessThanOrEqual(before);
  });
});

describe.runIf(levels[0] === 'bwrap')('inside bwrap', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await makeHost({ '.git/config': 'mine\n', 'a.txt': 'a' }, { sandbox: 'bwrap' });
  });
  afterAll(() => host.end());
  const sh = async (script: string): Promise<string> =>
    (await host.call('host.exec', { argv: ['sh', '-c', script] })).text;

  test('a command sees no network, no home directory, no passwd or shadow file and no other process', async () => {
    expect(await sh('ls /sys/class/net 2>&1; cat /proc/net/dev | tail -n +3 | cut -d: -f1')).not.toMatch(
      /eth|ens|wlan/,
    );
    expect(await sh('ls /root /home /etc/passwd /etc/shadow /var 2>&1')).not.toMatch(/^(?!ls:).*(root|home|passwd)$/m);
    expect(await sh('ls /proc | grep -c "^[0-9]"')).toMatch(/\n[1-6]\n/);
    expect(await sh('grep CapEff /proc/self/status')).toMatch(/CapEff:\t0+\n/);
  });

  test('the system is read-only, and each command has its own /tmp', async () => {
    expect(await sh('touch /usr/x 2>&1')).toContain('Read-only file system');
    expect(await sh('touch /tmp/mine && ls /tmp')).toContain('mine');
    expect(await sh('ls /tmp')).not.toContain('mine');
  });

  test('the workspace is writable, its .git is not', async () => {
    expect(await sh('echo b > a.txt; cat a.txt')).toContain('b\n');
    expect(await sh('cat .git/config; echo x > .git/config; mv .git .gut; rm -rf .git; cat .git/config')).toMatch(
      /mine[^]*mine/,
    );
    expect(host.workspace.read('.git/config')).toBe('mine\n');
  });

  test('the bridge’s environment cannot be read from /proc', async () => {
    process.env['REFOLD_TEST_CANARY'] = 'canary-9913';
    expect(await sh('cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"')).not.toContain('canary-9913');
    delete process.env['REFOLD_TEST_CANARY'];
  });

  test('a grandchild in its own session ends with the command', async () => {
    const marker = newMarker();
    const running = host.call('host.exec', {
      argv: ['sh', '-c', `setsid sh -c ': ${marker}; touch up; sleep 1000' & sleep 1000`],
    });
    await until('the grandchild started', () => existsSync(host.workspace.at('up')));
    await host.call('host.session.signal', { signal: 'kill' });
    expect(await running).toMatchObject({ code: 'signaled' });
    await until('no process is left', () => processesNaming(marker).length === 0);
  });
});

describe('opening a host', () => {
  const opened: TestHost[] = [];
  afterEach(async () => {
    for (const host of opened.splice(0)) await host.end();
  });
  const open = async (options: Parameters<typeof makeHost>[1]): Promise<TestHost> => {
    const host = await makeHost({}, options);
    opened.push(host);
    return host;
  };

  test('reports in one line the level, the user and the reason', async () => {
    const host = await open({ sandbox: 'none' });
    expect(host.sandbox).toBe('none');
    expect(host.sandboxNote).toMatch(/^none: chosen by the operator; commands run as uid [1-9]\d*/);
    const best = await open({});
    expect(best.sandboxNote).toMatch(best.sandbox === 'bwrap' ? /^bwrap as uid [1-9]\d*/ : /^none: bwrap /);
  });

  test.runIf(isRoot)(
    'warns when the commands’ user cannot use the workspace; only `auto` falls back to `none`',
    async () => {
      const workspace = makeWorkspace();
      execFileSync('chown', ['0:0', workspace.path]);
      execFileSync('chmod', ['700', workspace.path]);
      const options = { workspace: workspace.path, tempDir: workspace.tempDir, now: () => 0 };
      const host = await openHost(options);
      expect(host.sandbox).toBe('none');
      expect(host.sandboxNote).toContain('that user cannot read the workspace');
      await host.close();
      await expect(openHost({ ...options, sandbox: 'bwrap' })).rejects.toThrow(/cannot be used: bwrap/);
      workspace.remove();
    },
  );

  test('refuses to run commands as root', () => {
    expect(() => commandIdentity({ uid: 1, gid: 1 }, 0)).toThrow(/never run as root/);
  });

  test.each([
    [{ uid: 0, gid: 0 }, undefined, { uid: 65_534, gid: 65_534 }],
    [{ uid: 5, gid: 6 }, undefined, { uid: 5, gid: 6 }],
    [{ uid: 5, gid: 0 }, undefined, { uid: 5, gid: 5 }],
    [{ uid: 5, gid: 6 }, 7, { uid: 7, gid: 7 }],
  ])('as root, with workspace owner %j and sandboxUid %j, commands run as %j', (owner, sandboxUid, identity) => {
    // Another user cannot start processes as a third user: commands run as the host's user.
    expect(commandIdentity(owner, sandboxUid)).toEqual(isRoot ? identity : null);
  });

  test('refuses a missing workspace, the workspace /, and a tempDir inside the workspace', async () => {
    const options = { now: () => 0, sandbox: 'none' as const };
    await expect(openHost({ ...options, workspace: '/no/such/place' })).rejects.toThrow(/ENOENT/);
    await expect(openHost({ ...options, workspace: '/' })).rejects.toThrow(/must not be \//);
    const workspace = makeWorkspace();
    mkdirSync(workspace.at('tmp'));
    await expect(openHost({ ...options, workspace: workspace.path, tempDir: workspace.at('tmp') })).rejects.toThrow(
      /outside/,
    );
    workspace.remove();
  });

  test('close removes the default directories; what has an unfinished patch stays, and is not a temporary one', async () => {
    const workspace = makeWorkspace();
    const key = createHash('sha256').update(workspace.path).digest('hex').slice(0, 16);
    const state = mkdtempSync(join(tmpdir(), 'refold-state-'));
    vi.stubEnv('XDG_STATE_HOME', state);
    const manifests = join(state, 'refold', 'hosts', key, 'patches');
    const spills = join(tmpdir(), `refold-host-${process.getuid?.()}-${key}`);
    const host = await openHost({ workspace: workspace.path, now: () => 0, sandbox: 'none' });
    writeFileSync(join(manifests, 'waiting'), '');
    expect(readdirSync(spills)).toEqual([expect.stringMatching(/^spill-/)]);
    await host.close();
    expect(existsSync(spills)).toBe(false);
    expect(readdirSync(manifests)).toEqual(['waiting']);
    rmSync(join(manifests, 'waiting'));
    await (await openHost({ workspace: workspace.path, now: () => 0, sandbox: 'none' })).close();
    expect(existsSync(join(manifests, '..'))).toBe(false);
    vi.unstubAllEnvs();
    rmSync(state, { recursive: true });
    workspace.remove();
  });

  test('close stops running commands and removes spilled outputs', async () => {
    const host = await open({});
    const marker = newMarker();
    const running = host.call('host.exec', { argv: ['sh', '-c', `: ${marker}; touch up; sleep 1000; :`] });
    await until('the command started', () => existsSync(host.workspace.at('up')));
    await host.close();
    expect(await running).toMatchObject({ success: false, code: 'cancelled' });
    await until('no process is left', () => processesNaming(marker).length === 0);
    expect(readdirSync(host.workspace.tempDir)).toEqual(['patches']);
  });
});

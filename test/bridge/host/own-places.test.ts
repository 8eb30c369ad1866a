// What the tools of a host are kept from in a program that names nothing: its engine's data, its tokens, its descriptors.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import { must } from '../../../src/client/index.ts';
import { openEngine, openTokens } from '../../../src/index.ts';
import { type TestHost, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`what a sandbox hides is NOT tested here: ${probe.sandboxNote}\n`);
await probe.end();

/** What each tool makes of the data directory `data`. */
async function tryAll(host: TestHost): Promise<readonly (readonly [tool: string, code: unknown])[]> {
  const calls = [
    ['host.fs.read_file', { path: 'data/tokens/operator' }],
    ['host.fs.write_file', { path: 'data/tokens/operator', text: 'mine' }],
    ['host.fs.write_file', { path: 'data/tokens/other', text: 'mine', create_parents: true }],
    ['host.fs.list_dir', { path: 'data/journal' }],
    ['host.fs.stat', { path: 'data/epochs' }],
  ] as const;
  const outcomes: [string, unknown][] = [];
  for (const [tool, args] of calls) outcomes.push([tool, (await host.call(tool, args)).code]);
  return outcomes;
}

describe('a data directory in the workspace', () => {
  test('is kept from every tool, also when its engine is opened after the host, and when it has just closed', async () => {
    const host = await makeHost();
    const dataDir = host.workspace.at('data');
    const engine = await must(openEngine({ dataDir }));
    await openTokens(dataDir);
    const token = readFileSync(`${dataDir}/tokens/operator`, 'utf8');
    for (const [tool, code] of await tryAll(host)) expect([tool, code]).toEqual([tool, 'forbidden']);
    const { text } = await host.call('host.exec', { argv: ['sh', '-c', 'ls data; echo x > data/new'] });
    expect(text).not.toContain('tokens');
    expect([existsSync(`${dataDir}/new`), readFileSync(`${dataDir}/tokens/operator`, 'utf8')]).toEqual([false, token]);
    await engine.close();
    expect((await host.call('host.fs.read_file', { path: 'data/tokens/operator' })).code).toBe('forbidden');
    await host.end();
  });

  test('of another process is told by what is in it, at any depth by file tools', async () => {
    const files = {
      'near/data/epochs/1': '',
      'near/data/journal/CURRENT': 'x',
      'near/data/tokens/operator': 'secret',
      'a/b/c/d/epochs/1': '',
      'a/b/c/d/journal/CURRENT': 'x',
      'a/b/c/d/tokens/operator': 'secret',
    };
    const host = await makeHost(files, hasBwrap ? {} : { runsCommands: false });
    for (const path of ['near/data/tokens/operator', 'a/b/c/d/tokens/operator']) {
      expect([path, (await host.call('host.fs.read_file', { path })).code]).toEqual([path, 'forbidden']);
    }
    expect((await host.call('host.fs.grep', { pattern: 'secret' })).text).not.toContain('operator');
    if (hasBwrap) {
      expect((await host.call('host.exec', { argv: ['cat', 'near/data/tokens/operator'] })).text).not.toContain(
        'secret',
      );
    }
    await host.end();
  });

  test('around the workspace is a reason to refuse it', async () => {
    const files = makeWorkspace({ 'epochs/1': '', 'journal/CURRENT': 'x' });
    mkdirSync(files.at('sub'));
    for (const workspace of [files.path, files.at('sub')])
      await expect(openHost({ workspace, now: () => 0 })).rejects.toThrow('where refold keeps its own data');
    files.remove();
  });

  test('that is opened after a host without a sandbox ends its commands', async () => {
    const host = await makeHost({}, { sandbox: 'none' });
    const exec = () => host.call('host.exec', { argv: ['echo', 'ran'] });
    expect((await exec()).text).toContain('ran');
    const engine = await must(openEngine({ dataDir: host.workspace.at('data') }));
    expect(await exec()).toMatchObject({ success: false, code: 'forbidden' });
    await engine.close();
    await host.end();
  });
});

// Opens a host as a program does that was started with open descriptors, and shows those of a command.
const PROGRAM = `
  const [built, workspace, tempDir, sandbox] = process.argv.slice(1);
  const { openHost } = await import(built);
  const host = await openHost({ workspace, tempDir, sandbox, now: () => 0 });
  const context = { sessionId: 's', signal: new AbortController().signal, timeoutMs: 60_000, outputBytesMax: 10_000 };
  const argv = ['sh', '-c', 'for fd in 3 4 7 251; do readlink /proc/self/fd/$fd; cat <&7; done'];
  console.log((await host.run('host.exec', { argv }, context)).text);
  await host.close();`;

test.each(hasBwrap ? (['bwrap', 'none'] as const) : (['none'] as const))(
  'a command has no descriptor that its program was started with (%s)',
  (sandbox) => {
    const files = makeWorkspace();
    writeFileSync(`${files.tempDir}-secret`, 'not for commands');
    const built = pathToFileURL('dist/bridge/host/open-host.js').href;
    const argv = [process.execPath, '--input-type=module', '-e', PROGRAM, built, files.path, files.tempDir, sandbox];
    const script = `exec 3<"$0" 4<"$0" 7<"$0" 251<"$0"; exec "$@"`;
    const text = execFileSync('bash', ['-c', script, `${files.tempDir}-secret`, ...argv], { encoding: 'utf8' });
    expect(text).toContain('/dev/null');
    expect(text).not.toContain('secret');
    expect(text).not.toContain('not for commands');
    files.remove();
  },
);

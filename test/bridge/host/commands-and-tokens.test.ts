// No command reads a token: what a sandbox hides, and when commands share the user of the engine.
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import { type TestHost, callContext, makeHost, makeWorkspace } from '../../support/host/workspace.ts';

const SECRET = 'a-token-that-no-command-reads';
const isRoot = process.getuid?.() === 0;

let host: TestHost | null = null;
afterEach(async () => {
  await host?.end();
  host = null;
});

/** A data directory with a token, inside the workspace: the worst place. */
async function hostWithTokens(): Promise<TestHost> {
  const made = await makeHost({}, { sandbox: 'none' });
  const tokens = made.workspace.at('data/tokens');
  mkdirSync(tokens, { recursive: true, mode: 0o700 });
  writeFileSync(join(tokens, 'operator'), SECRET, { mode: 0o600 });
  if (isRoot) for (const path of [dirname(tokens), tokens, join(tokens, 'operator')]) chownSync(path, 0, 0);
  return made;
}

test('a command at the level none, as another user, cannot read a token', async ({ skip }) => {
  if (!isRoot) skip('only root can run commands as another user');
  host = await hostWithTokens();
  expect(host.commandsShareUser).toBe(false);
  const outcome = await host.call('host.exec', { argv: ['cat', 'data/tokens/operator'] });
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
});

test('no variable of the engine reaches a command', async () => {
  process.env['REFOLD_TOKEN'] = SECRET;
  host = await makeHost({}, { sandbox: 'none' });
  const outcome = await host.call('host.exec', { argv: ['env'] });
  delete process.env['REFOLD_TOKEN'];
  expect(JSON.stringify(outcome)).toContain('PATH=');
  expect(JSON.stringify(outcome)).not.toMatch(/REFOLD_|a-token/);
});

test('a command in a sandbox does not see a private directory, even in the workspace', async ({ skip }) => {
  const workspace = makeWorkspace({ 'data/tokens/operator': SECRET, 'a.txt': 'in sight' });
  const options = { workspace: workspace.path, tempDir: workspace.tempDir, now: () => 1_000 };
  const opened = await openHost({ ...options, protect: [workspace.at('data')] });
  try {
    if (opened.sandbox !== 'bwrap') skip('bwrap does not work here');
    const argv = ['sh', '-c', 'cat a.txt; ls -a data; cat data/tokens/operator'];
    const outcome = JSON.stringify(await opened.run('host.exec', { argv }, callContext()));
    expect(outcome).toContain('in sight');
    expect(outcome).not.toMatch(new RegExp(`${SECRET}|tokens\\\\n`));
  } finally {
    await opened.close();
    workspace.remove();
  }
});

test('that nothing keeps commands from a token is accepted only when spelled out, and recorded', async ({ skip }) => {
  if (!isRoot) skip('only root can make the owner of the workspace another user');
  const workspace = makeWorkspace();
  const options = { workspace: workspace.path, tempDir: workspace.tempDir, now: () => 1_000 };
  // The engine belongs to the owner of the workspace, as whom commands run.
  const engine = makeWorkspace();
  const opened = await openHost({ ...options, sandbox: 'none', protect: [engine.path] });
  expect(opened.commandsShareUser).toBe(true);
  expect(opened.sandboxNote).toContain("the engine's own user: they can read its tokens");
  const outcome = await opened.run('host.session.open', {}, callContext());
  expect(outcome.hostSession).toMatchObject({ sandbox: 'none', commands_share_user: true });
  await opened.close();
  engine.remove();
  workspace.remove();
});

// A workspace that contains the home directory of the user.
import { existsSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { userFilesIn } from '../../../bridge/host/workspace/user-files.ts';
import { makeHost } from '../../support/host/workspace.ts';

afterEach(() => void vi.unstubAllEnvs());

test.each(['.', 'home/me'])('has its configuration of git, ssh and shells written by no tool (%s)', async (home) => {
  const files = { '.gitconfig': '[core]', '.ssh/config': 'Host x', '.bashrc': 'true', 'notes.txt': 'x' };
  const host = await makeHost(
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${home}/${name}`, text])),
  );
  vi.stubEnv('HOME', host.workspace.at(home));
  for (const name of [
    '.gitconfig',
    '.GITCONFIG',
    '.config/git/config',
    '.ssh/rc',
    '.zshenv',
    '.config/fish/config.fish',
  ]) {
    const args = { path: `${home}/${name}`, text: 'planted', create_parents: true };
    expect([name, (await host.call('host.fs.write_file', args)).code]).toEqual([name, 'forbidden']);
  }
  expect((await host.call('host.fs.read_file', { path: `${home}/.gitconfig` })).text).toBe('[core]');
  const written = await host.call('host.fs.write_file', { path: `${home}/new.txt`, text: 'x' });
  expect(written).toMatchObject({ success: true });
  if (host.sandbox === 'bwrap') {
    const script = `cd ${home}; echo x >> .gitconfig; echo x >> .ssh/config; mv .ssh away; rm -f .bashrc; echo x > .zshrc; mkdir -p .config/git; echo ok`;
    const { text } = await host.call('host.exec', { argv: ['sh', '-c', script] });
    expect(text).toContain('ok');
    expect(text).toMatch(/\.zshrc was moved to .*\.zshrc\.quarantined-/);
    for (const [name, content] of Object.entries(files)) expect(host.workspace.read(`${home}/${name}`)).toBe(content);
    expect(['.zshrc', '.config/git'].filter((name) => existsSync(host.workspace.at(`${home}/${name}`)))).toEqual([]);
  }
  await host.end();
});

test('is not one that lies in the home directory, or beside it', () => {
  expect(userFilesIn('/srv/home/me/project', '/srv/home/me')).toEqual([]);
  expect(userFilesIn('/srv/home/me', '/srv/home/me2')).toEqual([]);
  expect(userFilesIn('/srv/home', '/srv/home/me')).toContainEqual(['me', '.config', 'git']);
  expect(userFilesIn('/srv', '')).toEqual([]);
});

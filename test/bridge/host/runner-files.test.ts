// What npx and package managers read or run in a workspace before the first line of refold. A model that could write it would
// run code as the user at the next `npx refold`, outside every sandbox.
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MANIFEST_BYTES_MAX } from '../../../schemas/limits.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { runnerEntry } from '../../../bridge/host/workspace/runner-files.ts';
import { type TestHost, makeHost, withHost } from '../../support/host/workspace.ts';

const probe = await makeHost();
const hasBwrap = probe.sandbox === 'bwrap';
if (!hasBwrap) process.stderr.write(`what npx reads is NOT tested in a sandbox here: ${probe.sandboxNote}\n`);
await probe.end();

/** Paths that programs read before refold runs. */
const READ_FIRST = [
  '.npmrc',
  '.NPMRC',
  'packages/app/.npmrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  'bunfig.toml',
  'pnpm-workspace.yaml',
  'node_modules/.bin/node',
  'packages/app/node_modules/.bin/sh',
  'node_modules/.bin/xdg-open',
  'packages/app/node_modules/.bin/refold',
  'packages/app/node_modules/refold/index.js',
];

/** Paths that a project writes every day. */
const OF_THE_PROJECT = [
  'npmrc',
  '.npmrc.example',
  'bin/node',
  'node_modules/.bin/tsc',
  'node_modules/left-pad/.npmrc',
  'node_modules/left-pad/node_modules/.bin/node',
];

const OFFERS = [
  { bin: { refold: './x.js' } },
  { bin: { './refold': './x.js' } },
  { bin: { '@a/refold': './x.js' } },
  { name: '@a/refold', bin: './x.js' },
  { name: 'refold', bin: './x.js' },
  { bin: ['tools/refold'] },
  { directories: { bin: 'tools' } },
].map((manifest) => JSON.stringify(manifest));

const NO_OFFERS = [{ name: 'refold' }, { name: 'app', bin: './x.js' }, { bin: { other: './refold' } }].map((manifest) =>
  JSON.stringify(manifest),
);

describe('file tools', () => {
  const write = (path: string, text = 'x'): JsonObject => ({ path, text, create_parents: true });
  const patch = (lines: string): JsonObject => ({ patch: `*** Begin Patch\n${lines}\n*** End Patch` });

  test.each(READ_FIRST)('write no %s', (path) =>
    withHost({ 'a.txt': 'a' }, async (host) => {
      const { code, text } = await host.call('host.fs.write_file', write(path));
      expect(code).toBe('forbidden');
      expect(text).toContain('tools may read');
      const moved = await host.call(
        'host.fs.apply_patch',
        patch(`*** Update File: a.txt\n*** Move to: ${path}\n@@\n-a\n+b`),
      );
      expect(moved.code).toBe('path_forbidden');
      expect(existsSync(host.workspace.at(path))).toBe(false);
    }),
  );

  test.each(OF_THE_PROJECT)('write %s', (path) =>
    withHost({}, async (host) => {
      expect(await host.call('host.fs.write_file', write(path))).toMatchObject({ success: true });
    }),
  );

  test('read a configuration that exists, and neither change nor delete it', () =>
    withHost({ '.npmrc': 'registry=x' }, async (host) => {
      const edit = { path: '.npmrc', old_string: 'registry=x', new_string: 'node-options=--require=./x.cjs' };
      expect(await host.call('host.fs.edit_file', edit)).toMatchObject({ code: 'forbidden' });
      const removed = await host.call('host.fs.apply_patch', patch('*** Delete File: .npmrc'));
      expect(removed).toMatchObject({ code: 'path_forbidden' });
      expect((await host.call('host.fs.read_file', { path: '.npmrc' })).text).toBe('registry=x');
      const put = { path: '.npmrc', before: Buffer.from('planted'), after_digest: null };
      expect(host.restore([put])).toMatchObject({ success: false, code: 'forbidden' });
    }));

  test.each(OFFERS)('write no package.json with %s', (text) =>
    withHost({ 'package.json': '{}', 'b/package.json': '{}' }, async (host) => {
      expect(await host.call('host.fs.write_file', write('package.json', text))).toMatchObject({ code: 'forbidden' });
      expect(await host.call('host.fs.write_file', write('a/package.json', `\ufeff${text}`))).toMatchObject({
        code: 'forbidden',
      });
      const edit = { path: 'package.json', old_string: '{}', new_string: text };
      expect(await host.call('host.fs.edit_file', edit)).toMatchObject({ code: 'forbidden' });
      const lines = `*** Update File: b/package.json\n@@\n-{}\n+${text}`;
      expect(await host.call('host.fs.apply_patch', patch(lines))).toMatchObject({ code: 'path_forbidden' });
      expect(host.workspace.read('package.json')).toBe('{}');
      expect(existsSync(host.workspace.at('a'))).toBe(false);
    }),
  );

  test.each(NO_OFFERS)('write package.json with %s', (text) =>
    withHost({ 'package.json': '{}' }, async (host) => {
      expect(await host.call('host.fs.write_file', write('package.json', text))).toMatchObject({ success: true });
    }),
  );
});

describe.runIf(hasBwrap)('a sandboxed command', () => {
  const run = async (host: TestHost, script: string) => host.call('host.exec', { argv: ['sh', '-c', script] });
  const put = (path: string): string => `mkdir -p "$(dirname ${path})" && echo planted > ${path}`;

  test('leaves none of them under its name', () =>
    withHost({ 'a.txt': 'a' }, async (host) => {
      for (const path of READ_FIRST) {
        const { text } = await run(host, put(path));
        expect([path, existsSync(host.workspace.at(path))]).toEqual([path, false]);
        expect(text).toMatch(/\[.* was moved to .*\.quarantined-/);
      }
      for (const path of OF_THE_PROJECT) {
        await run(host, put(path));
        expect([path, existsSync(host.workspace.at(path))]).toEqual([path, true]);
      }
    }));

  test.each([
    ['a link for node_modules', 'mkdir -p p/x; cd p; ln -s x node_modules', 'p/node_modules'],
    ['a link for .bin', 'mkdir -p p/node_modules/x; cd p; ln -s x node_modules/.bin', 'p/node_modules/.bin'],
    ['a program behind a link', 'mkdir -p deps/.bin; touch deps/.bin/node; ln -s deps node_modules', 'deps/.bin/node'],
    ['a link for package.json', 'ln -s a.txt package.json', 'package.json'],
    ['an offer', `echo '${OFFERS[0]}' > package.json`, 'package.json'],
    [
      'an offer too large to be read',
      `{ echo '${OFFERS[0]}'; head -c ${MANIFEST_BYTES_MAX} /dev/zero | tr '\\0' ' '; } > package.json`,
      'package.json',
    ],
    ['a changed package.json', `echo '${OFFERS[0]}' > had/package.json`, 'had/package.json'],
  ])('does not leave %s', (_, script, path) =>
    withHost({ 'a.txt': 'a', 'had/package.json': '{}' }, async (host) => {
      expect((await run(host, script)).text).toContain(`[${path} was moved to ${path}.quarantined-`);
      expect(host.workspace.list()).not.toContain(path);
    }),
  );

  test('reads those of the user, and cannot change them', () =>
    withHost(
      { '.npmrc': 'registry=x', 'packages/app/node_modules/.bin/node': 'true node', 'package.json': '{}' },
      async (host) => {
        const script =
          'echo x >> .npmrc; rm -f .npmrc; mv packages away; echo x > packages/app/node_modules/.bin/node; ' +
          `echo '{"name":"app"}' > package.json; cat .npmrc`;
        expect((await run(host, script)).text).toContain('registry=x');
        expect(host.workspace.read('.npmrc')).toBe('registry=x');
        expect(host.workspace.read('packages/app/node_modules/.bin/node')).toBe('true node');
        expect(host.workspace.read('package.json')).toContain('app');
      },
    ));
});

test('names inside an installed package are read by no runner', () => {
  for (const path of ['node_modules/a/.npmrc', 'node_modules/a/package.json', 'node_modules/a/node_modules/refold'])
    expect([path, runnerEntry(path.split('/'))]).toEqual([path, 'no']);
});

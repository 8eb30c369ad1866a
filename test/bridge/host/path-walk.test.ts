// The path walk alone, in both forms: what it opens, what it refuses, and that it closes every handle.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type WalkKind, walkKindHere, withDirectory } from '../../../bridge/host/workspace/directory.ts';
import { parsePath } from '../../../bridge/host/workspace/path-name.ts';
import { type Workspace, openWorkspace, readWhole } from '../../../bridge/host/workspace/workspace.ts';
import { type TestWorkspace, makeWorkspace } from '../../support/host/workspace.ts';

const walks: readonly WalkKind[] = walkKindHere() === 'fd' ? ['fd', 'lstat'] : ['lstat'];

const openHandles = (): number => (walkKindHere() === 'fd' ? readdirSync('/proc/self/fd').length : 0);
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return 'ok';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
};

describe.each(walks)('the %s walk', (walk) => {
  let files: TestWorkspace;
  let workspace: Workspace;
  beforeEach(() => {
    files = makeWorkspace({ 'a/b/c.txt': 'inside', 'top.txt': 'top' });
    workspace = openWorkspace(files.path, { walk });
  });
  afterEach(() => {
    workspace.close();
    files.remove();
  });
  const read = (path: string): string => readWhole(workspace, workspace.parse(path)).bytes.toString();

  test('reads through real directories', () => {
    expect([read('a/b/c.txt'), read('./a//b/./c.txt'), read('a/x/../b/c.txt'), read('top.txt')]).toEqual([
      'inside',
      'inside',
      'inside',
      'top',
    ]);
  });

  test('refuses every symbolic link: to a file or a directory, inside or outside, dangling', () => {
    symlinkSync('c.txt', files.at('a/b/link.txt'));
    symlinkSync('/etc', files.at('a/etc'));
    symlinkSync('b', files.at('a/same'));
    symlinkSync('..', files.at('a/up'));
    symlinkSync('nowhere', files.at('a/dangling'));
    const paths = ['a/b/link.txt', 'a/etc/passwd', 'a/same/c.txt', 'a/up/top.txt', 'a/dangling'];
    expect(paths.map((path) => codeOf(() => read(path)))).toEqual(paths.map(() => 'forbidden'));
  });

  test('refuses a FIFO and a device without opening them', () => {
    execFileSync('mkfifo', [files.at('a/pipe')]);
    expect(codeOf(() => read('a/pipe'))).toBe('forbidden');
    const dev = openWorkspace('/dev', { walk });
    try {
      expect(codeOf(() => readWhole(dev, dev.parse('null')))).toBe('forbidden');
    } finally {
      dev.close();
    }
  });

  test('refuses a file with a second hard link', () => {
    linkSync(files.at('top.txt'), files.at('again.txt'));
    expect(codeOf(() => read('again.txt'))).toBe('forbidden');
  });

  test('reports a missing name as not_found, and a file used as a directory as not_directory', () => {
    expect(codeOf(() => read('a/none/c.txt'))).toBe('not_found');
    expect(codeOf(() => read('top.txt/c.txt'))).toBe('not_directory');
  });

  test('closes every handle, also after a refusal or an error', () => {
    symlinkSync('/etc', files.at('a/etc'));
    const before = openHandles();
    for (const path of ['a/b/c.txt', 'a/etc/passwd', 'a/none/x', 'a/b', 'top.txt/x']) codeOf(() => read(path));
    codeOf(() =>
      withDirectory(workspace.root, ['a', 'b'], () => {
        throw new Error('while inside');
      }),
    );
    expect(openHandles()).toBe(before);
  });

  test.runIf(walk === 'fd')(
    'a directory handle stays valid when the directory is renamed and replaced by a link',
    () => {
      const names = withDirectory(workspace.root, ['a', 'b'], ({ location }) => {
        renameSync(files.at('a'), files.at('moved'));
        symlinkSync('/etc', files.at('a'));
        return readdirSync(location);
      });
      expect(names).toEqual(['c.txt']);
    },
  );

  test.runIf(walk === 'fd')('the workspace stays the same directory when another takes its path', () => {
    renameSync(files.path, `${files.path}-moved`);
    mkdirSync(files.path);
    writeFileSync(files.at('top.txt'), 'impostor');
    expect(read('top.txt')).toBe('top');
  });
});

describe('parsePath', () => {
  const roots = ['/srv/place', '/link/place'];
  const parse = (raw: string): string => parsePath(raw, roots).shown;

  test('accepts relative paths, and absolute ones below any spelling of the root', () => {
    expect(['a/b', './a//b/', '/srv/place/a/b', '/link/place/a/b', 'a/c/../b'].map(parse)).toEqual(
      Array.from({ length: 5 }, () => 'a/b'),
    );
    expect(['.', '', '/srv/place', 'a/..'].map((raw) => codeOf(() => parse(raw)))).toEqual([
      'ok',
      'invalid_path',
      'ok',
      'ok',
    ]);
    expect(parse('/srv/place')).toBe('.');
  });

  test('refuses a path outside the root, also one that shares its first characters', () => {
    for (const raw of ['/srv/placebo', '/srv', '/srv/place/../x', '..', 'a/../../b']) {
      expect(codeOf(() => parse(raw))).toBe('forbidden');
    }
  });
});

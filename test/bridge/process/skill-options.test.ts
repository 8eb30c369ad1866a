// What the command line of a bridge says of skills.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Misuse, readOptions } from '../../../bridge/process/options.ts';
import { protectedPaths } from '../../../bridge/process/protected-paths.ts';
import { temporaryDirectory } from '../../support/skills/skill-folders.ts';

const options = (workspace: string, ...more: readonly string[]) =>
  readOptions(
    ['--url', 'http://127.0.0.1:1', '--token-file', 't', '--workspace', workspace, '--provider', 'api', ...more],
    {},
  );

test('the skills of the workspace are read where there are any, and protected', () => {
  const workspace = temporaryDirectory();
  expect(options(workspace)).toMatchObject({ skills: [], skillsTrust: 'ask' });
  const own = join(workspace, '.refold/skills');
  mkdirSync(own, { recursive: true });
  const read = options(workspace, '--skills-trust', 'first');
  expect(read).toMatchObject({ skills: [own], skillsTrust: 'first' });
  expect(protectedPaths(read)).toContain(own);
  expect(protectedPaths(options(workspace, '--sandbox', 'none'))).not.toContain(own);
});

test('named directories take their place, and must exist', () => {
  const [workspace, named] = [temporaryDirectory(), temporaryDirectory()];
  mkdirSync(join(workspace, '.refold/skills'), { recursive: true });
  expect(options(workspace, '--skills', named, '--skills', workspace).skills).toEqual([named, workspace]);
  expect(() => options(workspace, '--skills', join(named, 'none'))).toThrow(Misuse);
  expect(() => options(workspace, '--skills-trust', 'always')).toThrow(Misuse);
});

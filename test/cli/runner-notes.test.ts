// The note for a command that a package manager started in the workspace.
import { mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { runnerNotes } from '../../src/cli/processes.ts';
import { freshDirectory } from '../support/e2e/refold.ts';

const BY_NPX = { npm_config_user_agent: 'npm/11.0.0 node/v22.0.0' };
const here = realpathSync(process.cwd());

test('refold says that a package manager started it in the workspace, or below it', () => {
  for (const workspace of [here, dirname(here)])
    expect(runnerNotes(workspace, BY_NPX)).toEqual([expect.stringContaining('start refold from a directory outside')]);
});

test('and says nothing elsewhere, or where none did', async () => {
  const inside = join(await freshDirectory(), 'inside');
  mkdirSync(inside);
  expect(runnerNotes(inside, BY_NPX)).toEqual([]);
  expect(runnerNotes(join(here, 'src'), BY_NPX)).toEqual([]);
  expect(runnerNotes(`${here}-beside`, BY_NPX)).toEqual([]);
  expect(runnerNotes(here, {})).toEqual([]);
});

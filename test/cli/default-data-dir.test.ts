// The default data directory is protected also while another one is used, and does not exist yet.
import { chownSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshDirectory, refoldBuilt, writeRecording } from '../support/e2e/refold.ts';

test('no tool plants a token where the next engine would look for it', async () => {
  const home = await freshDirectory();
  const workspace = await freshDirectory(true);
  if (process.getuid?.() === 0) chownSync(workspace, 65_534, 65_534);
  const script = 'mkdir -p .refold/tokens; echo mine > .refold/tokens/operator; chmod 600 .refold/tokens/operator';
  const recording = await writeRecording(home, [
    { calls: [{ id: 'a', name: 'open_session', arguments: {} }] },
    {
      calls: [
        {
          id: 'b',
          name: 'write_file',
          arguments: { path: '.refold/tokens/operator', text: 'mine\n', create_parents: true },
        },
      ],
    },
    { calls: [{ id: 'c', name: 'shell', arguments: { argv: ['sh', '-c', script] } }] },
    { content: 'done' },
  ]);
  const places = ['--data-dir', join(home, 'data'), '--workspace', workspace, '--recording', recording];
  await refoldBuilt(['run', 'go', ...places, '--yes', '--json'], { HOME: workspace });
  const planted = join(workspace, '.refold');
  expect(existsSync(planted)).toBe(true);
  expect(statSync(planted).mode & 0o777).toBe(0o700);
  expect(readdirSync(planted)).toEqual([]);
});

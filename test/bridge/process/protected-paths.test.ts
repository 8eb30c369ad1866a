import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Misuse } from '../../../bridge/process/options.ts';
import { refuseMissing } from '../../../bridge/process/protected-paths.ts';
import { makeWorkspace } from '../../support/host/workspace.ts';

test('a path of the workspace that does not exist is not protected: a command could make it', () => {
  const files = makeWorkspace({ 'work/a.txt': 'a', 'other/b.txt': 'b' });
  const workspace = files.at('work');
  const protecting = (path: string) => (): void =>
    refuseMissing({ workspace, protect: [files.at('work/a.txt'), path] });
  expect(protecting(files.at('work/keys'))).toThrow(Misuse);
  expect(protecting(files.at('work/keys'))).toThrow(/keys does not exist, .* make it first, or correct the path$/);
  expect(protecting(files.at('work/no/such/file'))).toThrow(Misuse);
  // No tool reaches a path elsewhere, and what exists is protected.
  expect(protecting(files.at('other/none'))).not.toThrow();
  writeFileSync(files.at('work/keys'), '');
  expect(protecting(files.at('work/keys'))).not.toThrow();
  files.remove();
});

// A file that changes between the two comparisons with the preview: after the one before the tool begins, and before the tool
// reads the bytes that it replaces.
import { afterEach, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../../schemas/json.ts';
import { makeHost } from '../../support/host/workspace.ts';

const between = { change: (): void => undefined };

vi.mock(import('../../../bridge/host/preview/previewed-files.ts'), async (load) => {
  const real = await load();
  return {
    ...real,
    refuseChanged: (...given) => {
      real.refuseChanged(...given);
      between.change();
    },
  };
});

afterEach(() => {
  between.change = () => undefined;
});

test.each<[string, JsonObject]>([
  ['host.fs.write_file', { path: 'a.txt', text: 'mine\n' }],
  ['host.fs.edit_file', { path: 'a.txt', old_string: 'two', new_string: '2' }],
  [
    'host.fs.apply_patch',
    {
      patch: ['*** Begin Patch', '*** Update File: a.txt', '@@', '-two', '+2', '*** End Patch'].join('\n'),
    },
  ],
])('%s writes nothing over a file that changed after the first comparison', async (tool, args) => {
  const host = await makeHost({ 'a.txt': 'one\ntwo\n' }, { sandbox: 'none' });
  try {
    const preview = host.preview(tool, args);
    const previewed = 'files' in preview ? preview.files : [];
    expect(previewed).toHaveLength(1);
    // The same edit would still fit: only the comparison of the very bytes refuses it.
    between.change = () => host.workspace.write('a.txt', 'one\ntwo\nthree\n');
    expect(await host.call(tool, args, { previewed })).toMatchObject({ success: false, code: 'changed_since_preview' });
    expect(host.workspace.read('a.txt')).toBe('one\ntwo\nthree\n');
    between.change = () => undefined;
    host.workspace.write('a.txt', 'one\ntwo\n');
    expect(await host.call(tool, args, { previewed })).toMatchObject({ success: true });
  } finally {
    await host.end();
  }
});

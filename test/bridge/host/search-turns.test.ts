// A search lets other calls of its process run, so it can also be cancelled.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GREP_BATCH_FILES } from '../../../schemas/limits.ts';
import { type TestHost, makeHost } from '../../support/host/workspace.ts';

let host: TestHost;
beforeAll(async () => {
  const names = Array.from({ length: 2 * GREP_BATCH_FILES + 1 }, (_, index) => `f${index}.txt`);
  host = await makeHost(Object.fromEntries(names.map((name) => [name, 'needle\n'])), { sandbox: 'none' });
});
afterAll(() => host.end());

test.each([
  ['host.fs.grep', { pattern: 'needle' }],
  ['host.fs.grep', { pattern: 'nothing', glob_filter: '*.txt' }],
  ['host.fs.glob', { pattern: '**/*.txt' }],
])('%s with %j stops when it is cancelled in the next turn of the event loop', async (tool, args) => {
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  expect(await host.call(tool, args, { signal: stop.signal })).toMatchObject({ success: false, code: 'cancelled' });
});

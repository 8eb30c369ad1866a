// A call whose whole output can be kept nowhere has done its work all the same.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeHost } from '../../support/host/workspace.ts';

test('without room for whole outputs, a command and a search tell their beginning and their end', async () => {
  const host = await makeHost({ 'hits.txt': 'a hit\n'.repeat(5_000) }, { sandbox: 'none' });
  for (const name of readdirSync(host.workspace.tempDir)) {
    if (name.startsWith('spill-')) rmSync(join(host.workspace.tempDir, name), { recursive: true });
  }
  const room = { outputBytesMax: 2_000 };
  const script = 'head -c 400000 /dev/zero | tr "\\0" x; echo end';
  const ran = await host.call('host.exec', { argv: ['sh', '-c', script] }, room);
  expect(ran).toMatchObject({ success: true, data: { exit_code: 0, stdout_bytes: 400_004, truncated: true } });
  expect(ran.text).toMatch(/^exit code 0\n\[stdout\]\nx+\n\[… \d+ bytes left out …\]\nx+end\n$/);
  const found = await host.call('host.fs.grep', { pattern: 'hit', max_results: 5_000 }, room);
  expect(found).toMatchObject({ success: true, data: { match_count: 5_000 } });
  expect([ran.spill, found.spill]).toEqual([undefined, undefined]);
  await host.end();
});

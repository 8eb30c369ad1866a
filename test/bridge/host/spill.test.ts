// Spilled outputs: a call succeeds when its whole output cannot be written, and the next host removes the outputs of killed
// processes.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openHost } from '../../../bridge/host/open-host.ts';
import { processTagOf } from '../../../src/files/process-tag.ts';
import { makeHost, makeWorkspace } from '../../support/host/workspace.ts';

test('when whole outputs cannot be written, a command and a search still return head and tail', async () => {
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

test('spilled outputs of killed processes of this machine are removed, others are kept', async () => {
  const workspace = makeWorkspace();
  const [pid = '', , ...place] = processTagOf(process.pid).split('.');
  const killed = `spill-${[pid, '1', ...place].join('.')}-a`;
  const others = [`spill-${processTagOf(process.pid)}-b`, `spill-${pid}.1.0.77-c`, 'spill-d', 'patches'];
  for (const name of [killed, ...others]) mkdirSync(join(workspace.tempDir, name), { recursive: true });
  writeFileSync(join(workspace.tempDir, killed, 'output'), 'as it was written');
  const host = await openHost({ workspace: workspace.path, tempDir: workspace.tempDir, now: () => 0, sandbox: 'none' });
  await host.close();
  expect(readdirSync(workspace.tempDir).sort()).toEqual(others.toSorted());
  workspace.remove();
});

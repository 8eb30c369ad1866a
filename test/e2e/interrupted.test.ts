// Ctrl-C at `refold run` cancels the run, stops its command, and is recorded.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StreamEvent } from '../../schemas/record.ts';
import { ROOT, freshDirectory, jsonLines, refold, writeRecording } from '../support/e2e/refold.ts';

// Writes its process id and would run for an hour.
const ENDLESS = "require('node:fs').writeFileSync('pid', String(process.pid)); setTimeout(() => {}, 3_600_000);";

test('the run and its call end as cancelled, and no process is left', async () => {
  const home = await freshDirectory();
  const workspace = await freshDirectory(true);
  const data = join(home, 'data');
  const recording = await writeRecording(home, [
    { calls: [{ id: 'open', name: 'open_session', arguments: {} }] },
    { calls: [{ id: 'endless', name: 'shell', arguments: { argv: ['node', '-e', ENDLESS] } }] },
    { content: 'never said' },
  ]);
  const args = [
    'run',
    'wait',
    '--workspace',
    workspace,
    '--recording',
    recording,
    '--data-dir',
    data,
    '--sandbox',
    'none',
    '--policy',
    'allow_all',
  ];
  const child = spawn(process.execPath, [join(ROOT, 'dist/src/cli/main.js'), ...args, '--json']);
  let stdout = '';
  let interrupted = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!interrupted && STARTED.test(stdout)) interrupted = child.kill('SIGINT');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(1);
  const events = jsonLines(stdout).flatMap((line) =>
    line['event'] === 'folded' ? [(line['record'] as StreamEvent).event] : [],
  );
  expect(events.at(-2)).toMatchObject({ kind: 'RunCancelled', reason: 'interrupted at the terminal' });
  expect(events.at(-1)).toMatchObject({ kind: 'ToolCallSettled', call_id: 'endless', outcome: 'cancelled' });
  const [session] = jsonLines((await refold(['sessions', '--data-dir', data, '--json'])).stdout);
  const shown = await refold(['show', String(session?.['session_id']), '--data-dir', data]);
  expect(shown.stdout).toMatch(/run-1 +cancelled, 2 turns, 2 calls/);
  const pid = Number(await readFile(join(workspace, 'pid'), 'utf8').catch(() => '0'));
  expect(isAlive(pid)).toBe(false);
});

/** The start of the call that does not end by itself. */
const STARTED = /"call_id":"endless","event_id":"[^"]*","kind":"ToolCallStarted"/;

/** False for 0: the command was stopped before it wrote its process id. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

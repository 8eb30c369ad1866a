// A bridge may inherit open files from the process that starts it; commands must not inherit them from the bridge.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { CLI, freshDirectory, jsonLines, writeRecording } from '../support/e2e/refold.ts';

/** Higher than the descriptors that Node uses itself. */
const DESCRIPTOR = 40;

const settledOutputs = (printed: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
  printed
    .map((line) => (line as { record?: { event?: { output?: { text?: string } } } }).record?.event?.output?.text)
    .filter((output) => output !== undefined);

test.runIf(existsSync('/proc/self/fdinfo'))(
  'a command inherits no descriptor that its bridge was started with',
  async () => {
    const home = await freshDirectory();
    const workspace = await freshDirectory(true);
    await writeFile(join(home, 'secret.txt'), 'not for commands\n');
    const recording = await writeRecording(home, [
      { calls: [{ id: 'a', name: 'open_session', arguments: {} }] },
      { calls: [{ id: 'b', name: 'shell', arguments: { argv: ['ls', '/proc/self/fd'] } }] },
      { content: 'Those were all.' },
    ]);
    const places = ['--data-dir', join(home, 'data'), '--workspace', workspace, '--recording', recording];
    const file = openSync(join(home, 'secret.txt'), 'r');
    const below = Array.from({ length: DESCRIPTOR - 3 }, () => 'ignore' as const);
    const child = spawn(process.execPath, [CLI, 'run', 'go', ...places, '--sandbox', 'none', '--yes', '--json'], {
      stdio: ['ignore', 'pipe', 'inherit', ...below, file],
    });
    closeSync(file);
    const printed = jsonLines(await text(child.stdout as Readable));
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
    // The last one is the directory that `ls` itself reads.
    expect(settledOutputs(printed)).toContain('exit code 0\n[stdout]\n0\n1\n2\n3\n');
  },
);

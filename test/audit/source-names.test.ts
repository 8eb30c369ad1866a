// What a name stands for is decided by its text. A model can write a file with the name of its session into the directory in
// which a person audits it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { must } from '../../src/client/must.ts';
import { newOutput } from '../../src/cli/output.ts';
import { sourceNameOf } from '../../src/cli/source-name.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { DEMO } from '../support/e2e/recorded-demo.ts';
import { CLI, freshDirectory } from '../support/e2e/refold.ts';

const quiet = newOutput({ stdout: process.stdout, stderr: process.stderr }, true);
const SESSION = brand<'SessionId'>('order-42');

async function refoldIn(cwd: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [CLI, ...args], { cwd, env: { ...process.env, NO_COLOR: '1' } });
  const [stdout, stderr, [code]] = await Promise.all([
    readAll(child.stdout),
    readAll(child.stderr),
    once(child, 'exit'),
  ]);
  return { stdout, stderr, code: code as unknown };
}

test('a file with the name of a session takes its place in no command', async () => {
  const [cwd, data] = [await freshDirectory(), await freshDirectory()];
  const engine = await must(openEngine({ dataDir: data }));
  await must(engine.client.createSession({ session_id: SESSION }));
  await engine.close();
  await copyFile(DEMO, join(cwd, SESSION));
  const commands = [
    ['verify', SESSION],
    ['replay', SESSION],
    ['explain', SESSION],
    ['timeline', SESSION],
    ['diff', SESSION, SESSION],
    ['whatif', SESSION, '--policy', 'careful'],
  ];
  for (const [command = '', ...args] of commands) {
    const { stdout, stderr } = await refoldIn(cwd, command, ...args, '--data-dir', data);
    expect([command, stdout]).toEqual([command, expect.stringMatching(/session +order-42/)]);
    expect([command, stdout]).toEqual([command, expect.stringMatching(/\b0 (events|turns)|events +0 /)]);
    expect([command, stderr]).toEqual([command, expect.stringContaining('to read that: ./order-42')]);
  }
  const named = await refoldIn(cwd, 'verify', './order-42');
  expect(named.stdout).toMatch(/verified +file \.\/order-42, session s-mws4sjmx-ea4ae6ce /);
  expect((await refoldIn(cwd, 'replay', './order-42')).stdout).toContain(
    'file     ./order-42\nsession  s-mws4sjmx-ea4ae6ce\n',
  );
});

test.each([
  ['order-42', { kind: 'session', id: 'order-42' }],
  ['s.2', { kind: 'session', id: 's.2' }],
  ['session:s.jsonl', { kind: 'session', id: 's.jsonl' }],
  ['s.jsonl', { kind: 'file', path: 's.jsonl' }],
  ['s.json', { kind: 'file', path: 's.json' }],
  ['./order-42', { kind: 'file', path: './order-42' }],
  ['file:order-42', { kind: 'file', path: 'order-42' }],
])('%s is %j, whatever lies in the directory', (text, named) => {
  expect(sourceNameOf(text, quiet)).toEqual(named);
});

test.each(['', 'two words', 'session:', 'session:a/b', '-x'])('"%s" names nothing', (text) => {
  expect(() => sourceNameOf(text, quiet)).toThrow(/neither a session id nor a file/);
});

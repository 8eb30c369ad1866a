// The command line: help, JSON, exit codes, and errors that say what to do next.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  CLI,
  type Finished,
  freshDirectory,
  jsonLines,
  refold,
  refoldBuilt,
  refoldProcess,
  writeRecording,
} from '../support/e2e/refold.ts';

const COMMANDS = [
  'demo',
  'run',
  'undo',
  'serve',
  'bridge',
  'sessions',
  'show',
  'events',
  'replay',
  'verify',
  'diff',
  'explain',
  'export',
  'import',
];

let home: string;
let data: string;
let session: string;

const onData = (...args: readonly string[]): Promise<Finished> =>
  refold(args.includes('--data-dir') ? args : [...args, '--data-dir', data]);

beforeAll(async () => {
  home = await freshDirectory();
  data = join(home, 'data');
  const workspace = await freshDirectory(true);
  await writeFile(join(workspace, 'hello.txt'), 'hello\n');
  const recording = await writeRecording(home, [
    { calls: [{ id: 'a', name: 'open_session', arguments: {} }] },
    {
      calls: [
        { id: 'b', name: 'read_file', arguments: { path: 'hello.txt' } },
        { id: 'c', name: 'no_such_tool', arguments: {} },
      ],
    },
    { content: 'It says hello.' },
  ]);
  const run = ['run', 'what does it say?', '--workspace', workspace, '--recording', recording, '--json'];
  const ran = await refoldBuilt([...run, '--data-dir', data]);
  if (ran.code !== 0) throw new Error(`refold run failed: ${ran.stdout}${ran.stderr}`);
  session = String(jsonLines((await onData('sessions', '--json')).stdout)[0]?.['session_id']);
});

test.each([
  ['--version', 0, /^\d+\.\d+\.\d+(-\w+)?\n$/, /^$/],
  ['--help', 0, /verify/, /^$/],
  ['--frob', 2, /^$/, /unknown option/],
])('the process exits with the code of its command: %s', async (arg, code, out, err) => {
  const finished = await refoldProcess([arg]);
  expect(finished).toEqual({ code, stdout: expect.stringMatching(out), stderr: expect.stringMatching(err) });
});

test.each(COMMANDS)('%s --help lists its options and exits with 0', async (command) => {
  const { code, stdout } = await refold([command, '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('--data-dir');
  expect(stdout).toContain('--json');
});

test.each([
  [['frobnicate'], /unknown command/],
  [['show'], /missing required argument/],
  [['sessions', '--frob'], /unknown option/],
  [['serve', '--port', 'http'], /--port takes a whole number/],
  [['serve', '--host', '0.0.0.0'], /--allow-remote/],
  [['run', 'hi', '--workspace', '/no/such/folder'], /no directory/],
  [['replay', 'no/such/file'], /refold sessions/],
])('misuse %j exits with 2 and says what to do', async (args, says) => {
  const { code, stderr, stdout } = await refold([...args, '--data-dir', join(home, 'other')]);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toMatch(says);
});

/** 128 and the number of SIGPIPE, as a shell reports it. */
const ENDED_BY_SIGPIPE = 141;

test('a command whose reader closes the pipe ends silently', async () => {
  const child = spawn(process.execPath, [CLI, 'events', session, '--data-dir', data], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  expect(await text(child.stderr)).toBe('');
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(ENDED_BY_SIGPIPE);
});

test.runIf(existsSync('/dev/full'))('a failure to write the output is reported in one line', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [CLI, 'show', session, '--data-dir', data], {
    stdio: ['ignore', full, 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  closeSync(full);
  expect(await text(child.stderr as Readable)).toMatch(/^refold: cannot write the output: no space left on device\n$/);
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(2);
});

test.each([
  [['replay', '/'], /^refold: cannot read \/: it is a directory\n$/],
  [['import', 'no-such.jsonl'], /^refold: cannot read no-such\.jsonl: no such file\n$/],
  [['import', `${CLI}/x`], /^refold: cannot read \S+main\.js\/x: a part of its path is not a directory\n$/],
  [['verify', '--checkpoint', 'no-such.json'], /^refold: cannot read no-such\.json: no such file\n$/],
  [['checkpoint', '--key', '/'], /^refold: cannot read \/: it is a directory\n$/],
  [['checkpoint', '--new-key', CLI], /^refold: cannot write \S+main\.js: it exists already\n$/],
  [['export', 's', '-o', '/no/such/file'], /^refold: cannot write \/no\/such\/file: no such directory\n$/],
  [
    ['serve', '--data-dir', CLI],
    /^refold: cannot create the data directory \S+main\.js: it exists and is not a directory\n$/,
  ],
  [
    ['serve', '--host', '192.0.2.1', '--allow-remote'],
    /^refold: cannot listen on \S+: this machine has no such address\n$/,
  ],
  [['run', ''], /^refold: the prompt is empty\. Give a task: refold run "[^"]+"\n$/],
  [['run', ' \n'], /^refold: the prompt is empty\. /],
  [['serve', '--port', '65536'], /^refold: --port takes a whole number from 0 to 65535, not "65536"\n$/],
  [['serve', '--lease-ttl', '1'], /^refold: --lease-ttl takes a whole number of at least 100, not "1"\n$/],
  [['run', 'go', '--base-url', 'here'], /^refold: the model server must be an http or https URL, not "here"\n$/],
  [
    ['run', 'go', '--recording', CLI, '--turns-max', '100001'],
    /^refold: --turns-max takes a whole number from 1 to 100000, not "100001"\n$/,
  ],
  [['show', 'a/b'], /^refold: "a\/b" is not a session id \([^\n]+\)\. List the sessions: refold sessions\n$/],
  [['sessions', '--data-dir', CLI], /^refold: cannot read \S+main\.js: a part of its path is not a directory\n$/],
  [['sessions', '--data-dir', ''], /^refold: the data directory is empty\. Give --data-dir DIR\n$/],
  [['whatif', '--all', '--registry', '/dev/null'], /^refold: \/dev\/null: [^\n]*[^ ]\n$/],
])('%j exits with 2 and one line', async (args, line) => {
  const { code, stdout, stderr } = await onData(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(line);
});

test.runIf(existsSync('/proc/self'))('a data directory is refused where none can be created', async () => {
  expect(await refold(['serve', '--port', '0', '--data-dir', '/proc/refold'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'refold: cannot create the data directory /proc/refold: cannot create a directory in /proc; choose another path\n',
  });
});

describe('a missing data directory', () => {
  const looking = [
    ['show', 's'],
    ['events', 's'],
    ['events', 's', '--follow'],
    ['replay', 's'],
    ['verify', 's'],
    ['verify', '--all'],
    ['diff', 's', 't'],
    ['explain', 's'],
    ['export', 's'],
    ['fork', 's'],
    ['whatif', '--all', '--policy', 'careful'],
    ['undo', 's', '--call', 'c'],
    ['gc'],
    ['approvals'],
    ['approve', 'c'],
    ['deny', 'c'],
    ['answer', 'c', '--text', 'yes'],
    ['interrupt', 's'],
    ['pause', 's'],
    ['resume', 's'],
    ['policy', 's'],
  ] as const;

  test.each(looking.map((args) => [args.join(' '), args] as const))('is not created by %s', async (_line, args) => {
    const missing = join(home, 'missing');
    expect(await refold([...args, '--data-dir', missing])).toEqual({
      code: 2,
      stdout: '',
      stderr: `refold: there is no data directory at ${missing}. To create one: refold serve --data-dir ${missing}\n`,
    });
    expect(existsSync(missing)).toBe(false);
  });

  test('is not created by refold checkpoint', async () => {
    const [missing, key] = [join(home, 'missing'), join(home, 'signing-key')];
    expect(await refold(['checkpoint', '--new-key', key, '--data-dir', missing])).toMatchObject({ code: 0 });
    expect(await refold(['checkpoint', '--key', key, '--data-dir', missing])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no data directory at '),
    });
    expect(existsSync(missing)).toBe(false);
  });

  test('has no sessions', async () => {
    const missing = join(home, 'missing');
    expect(await refold(['sessions', '--data-dir', missing])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^no sessions in /),
    });
    expect(existsSync(missing)).toBe(false);
  });

  test('is reported by an export, which leaves no file', async () => {
    const file = join(home, 'nothing.jsonl');
    const exported = await refold(['export', 's', '-o', file, '--data-dir', join(home, 'missing')]);
    expect(exported).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no data directory at ') });
    expect(existsSync(file)).toBe(false);
  });

  test('is not created in an unrelated directory', async () => {
    const folder = await freshDirectory();
    expect(await refold(['show', 's', '--data-dir', folder])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`there is no data directory at ${folder}`),
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

test('without a model, run says how to configure one', async () => {
  const { code, stderr } = await refoldBuilt(['run', 'hi', '--data-dir', data], {
    OPENAI_BASE_URL: undefined,
    OPENAI_API_KEY: undefined,
  });
  expect(code).toBe(2);
  expect(stderr).toMatch(/OPENAI_API_KEY.*--base-url.*refold demo/s);
});

test('errors are objects with --json', async () => {
  const { code, stdout, stderr } = await onData('show', 'absent', '--json');
  expect(code).toBe(2);
  expect(stderr).toBe('');
  expect(jsonLines(stdout)).toMatchObject([{ error: { code: 'unknown_session' } }]);
});

test('sessions lists all sessions', async () => {
  expect((await onData('sessions')).stdout).toMatch(new RegExp(`^${session} +\\d+ events {2}idle`));
  expect((await refold(['sessions', '--data-dir', join(home, 'empty')])).stdout).toContain('refold demo');
});

test('show gives the reasons why each tool is in or out', async () => {
  const { stdout } = await onData('show', session);
  expect(stdout).toMatch(/in +read_file +in_profile/);
  expect(stdout).toMatch(/out +edit_file +not_in_profile/);
  expect(stdout).toMatch(/run-1 +completed, 3 turns, 3 calls/);
  const [object] = jsonLines((await onData('show', session, '--json')).stdout);
  expect(object).toMatchObject({ state: { session_id: session }, effects: [], tools: expect.any(Array) });
});

test('events prints one line per event, from a position on', async () => {
  const all = jsonLines((await onData('events', session, '--json')).stdout);
  expect(all.map((record) => record['position'])).toEqual(all.map((_, index) => index));
  const last = jsonLines((await onData('events', session, '--json', '--from', '3')).stdout);
  expect(last).toEqual(all.slice(3));
});

describe('an exported session', () => {
  let file: string;
  let exported: Finished;
  beforeAll(async () => {
    file = join(home, 'session.jsonl');
    exported = await onData('export', session, '--output', file);
  });

  const tampered = async (change: (lines: string[]) => void): Promise<Finished> => {
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    change(lines);
    const path = join(home, 'tampered.jsonl');
    await writeFile(path, `${lines.join('\n')}\n`);
    return await refold(['replay', path, '--json']);
  };

  const edit = (lines: string[], index: number, from: string, to: string): void =>
    void lines.splice(index, 1, String(lines[index]).replace(from, to));

  test('is reported', () => {
    expect(exported).toMatchObject({ code: 0, stdout: expect.stringContaining('records of') });
  });

  test('replays from the file alone to the state digest of the session', async () => {
    const [fromFile] = jsonLines((await refold(['replay', file, '--json'])).stdout);
    const [fromLog] = jsonLines((await onData('replay', session, '--json')).stdout);
    expect(fromFile).toMatchObject({ replay: 'byte-identical', state_digest: fromLog?.['state_digest'] });
  });

  test('is written to standard output when no file is given', async () => {
    expect((await onData('export', session)).stdout).toBe(await readFile(file, 'utf8'));
  });

  test('does not overwrite an existing file', async () => {
    expect(await onData('export', session, '--output', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot write'),
    });
  });

  test('can be imported into another data directory, once', async () => {
    const other = join(home, 'imported');
    expect(await refold(['import', file, '--data-dir', other])).toMatchObject({ code: 0 });
    const [replayed] = jsonLines((await refold(['replay', session, '--data-dir', other, '--json'])).stdout);
    expect(replayed).toMatchObject({ replay: 'byte-identical' });
    expect(await refold(['import', file, '--data-dir', other, '--json'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('session_exists'),
    });
  });

  test.each([
    ['an edited commit', 3, (lines: string[]) => edit(lines, 3, '"at_ms":1', '"at_ms":2')],
    ['a missing commit', 4, (lines: string[]) => void lines.splice(4, 1)],
    ['two commits swapped', 2, (lines: string[]) => void lines.splice(2, 2, String(lines[3]), String(lines[2]))],
    ['another genesis', 1, (lines: string[]) => edit(lines, 1, '"model":"', '"model":"x')],
    ['another tool package', 0, (lines: string[]) => edit(lines, 0, '"description":"', '"description":"x')],
  ])('%s is found with its position, and the command exits with 1', async (_, at, change) => {
    const { code, stdout } = await tampered(change);
    expect(code).toBe(1);
    const line = JSON.parse(String((await readFile(file, 'utf8')).split('\n')[at])) as { readonly position?: number };
    const divergence = line.position === undefined ? { position: -1 } : { commit: line.position };
    expect(jsonLines(stdout)).toMatchObject([{ replay: 'diverged', divergence }]);
  });

  test('a line that is not a record is named, and the command exits with 1', async () => {
    const { code, stdout } = await tampered((lines) => void lines.splice(2, 1, '{"kind":'));
    expect(code).toBe(1);
    expect(stdout).toContain('line 3');
  });
});

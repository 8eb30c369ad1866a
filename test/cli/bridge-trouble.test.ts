// What `refold run` and `refold bridge` report about a bridge that fails or waits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { connect } from '../../src/client/index.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { must } from '../../src/client/must.ts';
import {
  CLI,
  type Started,
  eventsUntil,
  freshDirectory,
  refold,
  refoldBuilt,
  refoldProcess,
  start,
  writeRecording,
} from '../support/e2e/refold.ts';

let home: string;
let workspace: string;
let recording: string;
let engine: Started;
const at = (name: string): string => join(home, name);

beforeAll(async () => {
  home = await freshDirectory();
  workspace = await freshDirectory(true);
  // Too long for the event, so it is stored as a blob first.
  recording = await writeRecording(home, [{ content: 'long '.repeat(2_000) }]);
  engine = await start(['serve', '--port', '0', '--data-dir', at('data')]);
});
afterAll(async () => {
  await engine.kill();
  await rm(home, { recursive: true });
  await rm(workspace, { recursive: true });
});

const work = (): readonly string[] => ['--data-dir', at('data'), '--workspace', workspace, '--recording', recording];

test('a run that waits for storage reports it, as its engine does, and continues once storage works', async () => {
  const notices: unknown[] = [];
  const lines = createInterface({ input: engine.process.stdout as Readable });
  const isOver = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (notices.push((JSON.parse(line) as { message: unknown }).message) === 2) resolve();
    });
  });
  const [place, aside] = [at('data/blobs'), at('aside')];
  await rename(place, aside);
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn(process.execPath, [CLI, 'run', 'go', ...work()], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  let waited: Promise<void> | undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    if (printed.includes('! the bridge waits for the engine: storage_failed, ')) waited ??= rename(aside, place);
  });
  const [code] = (await once(child, 'close')) as [number];
  await waited;
  expect({ code, printed }).toMatchObject({
    code: 0,
    printed: expect.stringMatching(/the bridge continues\n[^]*run-1 completed/),
  });
  await isOver;
  expect(notices).toEqual([
    expect.stringMatching(/^the stores fail, so work is refused: the blobs are no longer in their place: /),
    'the stores accept writes again; waiting work continues',
  ]);
});

test('a bridge for one session leases nothing of other sessions', async () => {
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'), 'operator')));
  const run = { kind: 'RunRequested', input: { text: 'go' } } as const;
  for (const id of ['one', 'other']) {
    await must(client.createSession({ session_id: brand(id) }));
    await must(client.submit(brand(id), { events: [run] }));
  }
  const bridge = await start(['bridge', ...work(), '--session', 'other']);
  await eventsUntil(client, brand('other'), ({ event }) => event.kind === 'ToolCallsObserved');
  await bridge.kill();
  expect((await must(client.session(brand('one')))).state).toMatchObject({ version: 1, run: { phase: 'generating' } });
  await client.close();
});

test('a bridge that is started before its engine waits for it, and says so', async () => {
  const data = at('later');
  const child = spawn(process.execPath, [CLI, 'bridge', ...work(), '--data-dir', data, '--json']);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
  expect(await next()).toEqual({ event: 'waiting_for_engine', data_dir: data });
  const late = await start(['serve', '--port', '0', '--data-dir', data]);
  expect(await next()).toMatchObject({ event: 'ready' });
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
  await late.kill();
});

test('a bridge that waits for its engine ends when it is told to', async () => {
  const child = spawn(process.execPath, [CLI, 'bridge', ...work(), '--data-dir', at('never-served')]);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
});

test('a bridge whose workspace is not a directory reports its path and the reason', async () => {
  const finished = await refoldProcess(['bridge', ...work(), '--workspace', recording]);
  const stderr = `refold: the bridge cannot start: ${recording}: a part of its path is not a directory\n`;
  expect(finished).toEqual({ code: 2, stdout: '', stderr });
});

test('a run with an invalid recording leaves no session behind', async () => {
  const broken = at('broken.jsonl');
  await writeFile(broken, '{"turn":1,"content":\n');
  const finished = await refoldBuilt(['run', 'go', ...work(), '--recording', broken, '--data-dir', at('never')]);
  expect(finished).toMatchObject({ code: 2, stderr: expect.stringContaining('line 1: the text is not JSON') });
  const sessions = await refold(['sessions', '--json', '--data-dir', at('never')]);
  expect(sessions).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a run in a session with an unfinished run starts no bridge, and says how to continue', async () => {
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'), 'operator')));
  const id = brand<'SessionId'>('left');
  await must(client.createSession({ session_id: id }));
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
  const finished = await refold(['run', 'more', ...work(), '--session', id]);
  expect(finished).toMatchObject({
    code: 2,
    stdout: expect.not.stringContaining('bridge'),
    stderr: `refold: run-1 of left is not over. To continue it: refold serve and refold bridge; to end it: refold interrupt left\n`,
  });
  expect((await must(client.session(id))).state.version).toBe(1);
  await client.close();
});

test('refold bridge exits with 2 when the bridge is killed', async () => {
  const bridge = await start(['bridge', ...work()]);
  process.kill(Number(bridge.ready['pid']), 'SIGKILL');
  expect(await once(bridge.process, 'exit')).toEqual([2, null]);
});

// What `refold run` and `refold bridge` tell of a bridge in trouble.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { connect } from '../../src/client/index.ts';
import { readToken, tokenFile } from '../../src/server/token.ts';
import { must } from '../../src/client/must.ts';
import {
  CLI,
  type Started,
  eventsUntil,
  freshDirectory,
  refold,
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
  // Too long to stay in the event, so that it is put into the store of blobs first.
  recording = await writeRecording(home, [{ content: 'long '.repeat(2_000) }]);
  engine = await start(['serve', '--port', '0', '--data-dir', at('data')]);
});
afterAll(async () => {
  await engine.kill();
  await rm(home, { recursive: true });
  await rm(workspace, { recursive: true });
});

const work = (): readonly string[] => ['--data-dir', at('data'), '--workspace', workspace, '--recording', recording];

test('a run that waits for storage says so, as its engine does, and goes on once there is some', async () => {
  const notices: unknown[] = [];
  const lines = createInterface({ input: engine.process.stdout as Readable });
  const isOver = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (notices.push((JSON.parse(line) as { message: unknown }).message) === 2) resolve();
    });
  });
  const [place, aside] = [at('data/blobs/tmp'), at('aside')];
  await rename(place, aside);
  const env = { ...process.env, NO_COLOR: '1' };
  const child = spawn(process.execPath, [CLI, 'run', 'go', ...work()], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  let waited: Promise<void> | undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    told += text;
    if (told.includes('! the bridge waits for the engine: storage_failed, ')) waited ??= rename(aside, place);
  });
  const [code] = (await once(child, 'close')) as [number];
  await waited;
  expect({ code, told }).toMatchObject({
    code: 0,
    told: expect.stringMatching(/the bridge goes on\n[^]*run-1 completed/),
  });
  await isOver;
  expect(notices).toEqual([
    expect.stringMatching(/^the stores fail, and work is refused: writing a blob: ENOENT.* Look at the disk: /),
    'the stores take everything again; what waited for them goes on',
  ]);
});

test('a bridge for one session leaves the others alone', async () => {
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'))));
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

test('a bridge that cannot work where it is told to says which file that is, and why', async () => {
  const told = await refold(['bridge', ...work(), '--workspace', recording]);
  const stderr = `refold: the bridge cannot start: ${recording}: a part of its path is not a directory\n`;
  expect(told).toEqual({ code: 2, stdout: '', stderr });
});

test('a run whose recording is none leaves no session behind', async () => {
  const broken = at('broken.jsonl');
  await writeFile(broken, '{"turn":1,"content":\n');
  const told = await refold(['run', 'go', ...work(), '--recording', broken, '--data-dir', at('never')]);
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining('line 1: the text is not JSON') });
  const sessions = await refold(['sessions', '--json', '--data-dir', at('never')]);
  expect(sessions).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('a run in a session whose run is not over starts no bridge, and says how to go on', async () => {
  const client = connect(String(engine.ready['url']), await readToken(tokenFile(at('data'))));
  const id = brand<'SessionId'>('left');
  await must(client.createSession({ session_id: id }));
  await must(client.submit(id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
  const told = await refold(['run', 'more', ...work(), '--session', id]);
  expect(told).toMatchObject({
    code: 2,
    stdout: expect.not.stringContaining('bridge'),
    stderr: `refold: run-1 of left is not over. To go on with it: refold serve and refold bridge; to end it: refold interrupt left\n`,
  });
  expect((await must(client.session(id))).state.version).toBe(1);
  await client.close();
});

test('a bridge that is killed ends its command with 2', async () => {
  const bridge = await start(['bridge', ...work()]);
  process.kill(Number(bridge.ready['pid']), 'SIGKILL');
  expect(await once(bridge.process, 'exit')).toEqual([2, null]);
});

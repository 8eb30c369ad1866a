// `refold mcp serve` killed: the next one goes on with the session, the host comes back for its call by the handle, and the command
// has run once.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test, vi } from 'vitest';
import { CLI, type Started, freshDirectory, start, writeRecording } from '../support/e2e/refold.ts';

const SLOW_MS = 90_000;
/** A bridge that was killed is given up after this time, by default 15 s. */
const LEASE_TTL_MS = '1000';
const LIST = { name: 'list_dir', arguments: { path: '.' } };

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Fields = Readonly<Record<string, unknown>>;

interface Answer {
  readonly id?: number;
  readonly result?: Fields;
  readonly error?: Fields;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'killer', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

interface Server {
  readonly session: Promise<string>;
  request(method: string, params?: Fields): Promise<Fields>;
  kill(): Promise<void>;
}

/** `refold mcp serve` as a process, with a host that sends lines to it. */
function serve(args: readonly string[]): Server {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [CLI, 'mcp', 'serve', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const answers: Answer[] = [];
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => answers.push(JSON.parse(line) as Answer));
  let last = 0;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  ends.push(kill);
  return {
    session: vi.waitUntil(() => /session (\S+),/.exec(said)?.[1], { timeout: SLOW_MS }),
    async request(method, params = {}) {
      const id = (last += 1);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } })}\n`);
      const answer = await vi.waitUntil(() => answers.find((each) => each.id === id), { timeout: SLOW_MS });
      return answer.result ?? expect.fail(JSON.stringify(answer.error));
    },
    kill,
  };
}

interface Place {
  readonly dataDir: string;
  readonly workspace: string;
  /** Appends a line to `marks`, and goes on once there is a file `go`. */
  readonly call: Fields;
  marks(): Promise<string>;
  /** Lets commands go on. */
  release(): Promise<void>;
}

async function newPlace(): Promise<Place> {
  const workspace = await freshDirectory(true);
  const dataDir = join(await freshDirectory(), 'data');
  const script = 'echo mark >> marks; while [ ! -e go ]; do sleep 0.1; done; echo done';
  return {
    dataDir,
    workspace,
    call: { name: 'shell', arguments: { argv: ['sh', '-c', script] } },
    marks: async () => await readFile(join(workspace, 'marks'), 'utf8').catch(() => ''),
    release: async () => {
      await writeFile(join(workspace, 'go'), '');
      await chmod(join(workspace, 'go'), 0o644);
    },
  };
}

const marked = (place: Place): Promise<unknown> =>
  vi.waitUntil(async () => (await place.marks()) !== '', { timeout: SLOW_MS });

const ended = (server: Server, taskId: unknown): Promise<Fields> =>
  vi.waitUntil(
    async () => {
      const task = await server.request('tasks/get', { taskId });
      return task['status'] === 'working' ? null : task;
    },
    { timeout: SLOW_MS, interval: 200 },
  );

async function program(args: readonly string[]): Promise<Started> {
  const started = await start(args);
  ends.push(() => started.kill());
  return started;
}

test(
  'under another bridge, the call goes on, and the host gets its result from the next server',
  async () => {
    const place = await newPlace();
    const { dataDir, workspace } = place;
    await program(['serve', '--data-dir', dataDir, '--port', '0']);
    const recording = await writeRecording(await freshDirectory(), []);
    const runs = ['--workspace', workspace, '--recording', recording, '--sandbox', 'none'];
    await program(['bridge', '--data-dir', dataDir, ...runs]);
    const options = ['--data-dir', dataDir, '--no-bridge'];
    const first = serve([...options, '--policy', 'allow_all']);
    const session = await first.session;
    const task = await first.request('tools/call', place.call);
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    const { taskId, createdAt } = task;
    await marked(place);
    await first.kill();
    const second = serve([session, ...options]);
    expect(await second.request('tasks/get', { taskId })).toMatchObject({ status: 'working', createdAt });
    await place.release();
    const done = await ended(second, taskId);
    expect(done).toMatchObject({ status: 'completed', createdAt });
    expect(JSON.stringify(done['result'])).toContain('done');
    expect(await place.marks()).toBe('mark\n');
  },
  SLOW_MS,
);

test(
  'with its bridge and the engine, the outcome of the call is unknown, and it does not run again',
  async () => {
    const place = await newPlace();
    const { dataDir, workspace } = place;
    const engine = ['serve', '--data-dir', dataDir, '--port', '0', '--lease-ttl', LEASE_TTL_MS];
    const before = await program(engine);
    const options = ['--data-dir', dataDir, '--workspace', workspace, '--sandbox', 'none'];
    const first = serve([...options, '--policy', 'allow_all']);
    const session = await first.session;
    const { taskId } = await first.request('tools/call', place.call);
    await marked(place);
    await Promise.all([first.kill(), before.kill()]);
    await program(engine);
    const second = serve([session, ...options]);
    expect(await ended(second, taskId)).toMatchObject({ status: 'failed', error: { code: -32_603 } });
    await place.release();
    expect(await second.request('tools/call', LIST)).not.toHaveProperty('isError');
    expect(await place.marks()).toBe('mark\n');
  },
  SLOW_MS,
);

test(
  'with an engine of its own, between two calls: the next one starts another',
  async () => {
    const { dataDir, workspace } = await newPlace();
    const options = ['--data-dir', dataDir, '--workspace', workspace, '--sandbox', 'none'];
    const first = serve([...options, '--policy', 'allow_all']);
    const session = await first.session;
    expect(await first.request('tools/call', LIST)).not.toHaveProperty('isError');
    await first.kill();
    const second = serve([session, ...options]);
    expect(await second.session).toBe(session);
    expect(await second.request('tools/call', LIST)).not.toHaveProperty('isError');
  },
  SLOW_MS,
);

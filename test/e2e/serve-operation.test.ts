// `refold serve` as a process: how it stops, and how it serves on a full disk.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { findEngine } from '../../src/cli/engine-address.ts';
import { type EngineClient, connect, must } from '../../src/client/index.ts';
import { CLI, freshDirectory, refold } from '../support/e2e/refold.ts';
import { fillDisk, freeDisk, mountSmallDisk } from '../support/journal/small-disk.ts';

const SESSION = brand<'SessionId'>('s');
const OWNER = brand<'OwnerId'>('holder');
const RUN = { kind: 'RunRequested', input: { text: 'go' } } as const;
const WORK = { owner: OWNER, kinds: ['llm.generate'], tools: [], max: 1 } as const;

type Line = Readonly<Record<string, unknown>>;

interface Served {
  readonly child: ChildProcess;
  readonly operator: EngineClient;
  readonly bridge: EngineClient;
  /** The first line, printed or still to come, that fits. */
  line(fits: (line: Line) => boolean): Promise<Line>;
  /** Its exit code and signal. */
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
}

async function serveProcess(dataDir: string): Promise<Served> {
  const child = spawn(process.execPath, [CLI, 'serve', '--data-dir', dataDir, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const printed: Line[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (text) => printed.push(JSON.parse(text) as Line));
  async function line(fits: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = printed.find(fits);
      if (found !== undefined) return found;
      await once(lines, 'line');
    }
  }
  const { url } = await line(({ event }) => event === 'ready');
  const token = async (name: string): Promise<string> =>
    (await readFile(join(dataDir, 'tokens', name), 'utf8')).split('\n')[0] as string;
  const [operator, bridge] = await Promise.all(
    ['operator', 'bridge'].map(async (name) => connect(String(url), await token(name))),
  );
  return { child, ended, line, operator: operator as EngineClient, bridge: bridge as EngineClient };
}

/** Starts a run whose model answer a bridge has leased. `asking` waits for more work, until the drain begins. */
async function withLease({ operator, bridge }: Served): Promise<{ readonly asking: Promise<unknown> }> {
  await must(operator.createSession({ session_id: SESSION }));
  await must(operator.submit(SESSION, { events: [RUN] }));
  const granted = await must(bridge.lease({ ...WORK, wait_ms: 1_000 }));
  expect(granted.effects).toHaveLength(1);
  return { asking: bridge.lease({ ...WORK, wait_ms: 20_000 })() };
}

describe('serve, asked to stop while a bridge holds a lease', () => {
  test('waits for the bridge, is reached by an interrupt meanwhile, and ends with 0', async () => {
    const dataDir = join(await freshDirectory(), 'data');
    const served = await serveProcess(dataDir);
    const { asking } = await withLease(served);
    const followed: string[] = [];
    const over = new AbortController();
    const following = (async () => {
      const events = served.operator.follow(SESSION, { signal: over.signal });
      for await (const { event } of events) if (followed.push(event.kind) === 2) return;
    })();
    served.child.kill('SIGTERM');
    await asking;
    expect((await refold(['interrupt', SESSION, '--data-dir', dataDir])).code).toBe(0);
    await following;
    expect(followed).toEqual(['RunRequested', 'user.interrupt']);
    expect(await served.ended).toEqual([0, null]);
    over.abort();
    expect(await readdir(dataDir)).not.toContain('engine.json');
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('ends at once at a second signal, here %s, and has lost nothing', async (signal, code) => {
    const dataDir = join(await freshDirectory(), 'data');
    const served = await serveProcess(dataDir);
    const { asking } = await withLease(served);
    served.child.kill('SIGTERM');
    await asking;
    served.child.kill(signal);
    expect(await served.ended).toEqual([code, null]);
    expect((await refold(['verify', '--all', '--data-dir', dataDir])).stdout).toContain('1 stream, 1 event');
  });
});

describe('serve on a full disk', () => {
  test('answers reads, refuses work, and is found by commands as soon as there is space', async (context) => {
    const disk = await mountSmallDisk('2m');
    if ('reason' in disk) {
      context.skip(disk.reason);
      return;
    }
    const dataDir = join(disk.directory, 'data');
    const before = await serveProcess(dataDir);
    await must(before.operator.createSession({ session_id: SESSION }));
    await must(before.operator.submit(SESSION, { events: [RUN] }));
    before.child.kill('SIGKILL');
    await before.ended;
    await rm(join(dataDir, 'engine.json'));
    await fillDisk(disk.directory);

    const served = await serveProcess(dataDir);
    try {
      const notice = await served.line(({ message }) => String(message).includes('cannot publish'));
      expect(String(notice['message'])).toContain('Free some space');
      expect((await must(served.operator.session(SESSION))).state.version).toBe(1);
      expect(await served.operator.createSession()()).toMatchObject({ left: { code: 'storage_full' } });
      expect(await findEngine(dataDir)).toBeNull();

      await freeDisk(disk.directory);
      await served.line(({ message }) => String(message).includes('is published now'));
      expect((await refold(['interrupt', SESSION, '--data-dir', dataDir])).code).toBe(0);
      served.child.kill('SIGTERM');
      expect(await served.ended).toEqual([0, null]);
    } finally {
      served.child.kill('SIGKILL');
      await served.ended;
      await disk.unmount();
    }
  });
});

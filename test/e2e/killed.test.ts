// Killing the engine or the bridge during a run loses nothing, and no call that must not be repeated runs twice.
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { readFileSync, readdirSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { SessionId } from '../../schemas/ids.ts';
import type { StreamEvent } from '../../schemas/record.ts';
import { type EngineClient, connect } from '../../src/client/index.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { replay } from '../../src/core/index.ts';
import { until } from '../support/host/condition.ts';
import { must } from '../../src/client/must.ts';
import { type Started, eventsUntil, freshDirectory, start, writeRecording } from '../support/e2e/refold.ts';

const started: Started[] = [];
const clients: EngineClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const child of started.splice(0)) await child.kill();
});

interface System {
  readonly dataDir: string;
  readonly workspace: string;
  readonly recording: string;
  engine: Started;
  client: EngineClient;
  readonly id: SessionId;
}

const run = async (args: readonly string[]): Promise<Started> => {
  const child = await start(args);
  started.push(child);
  return child;
};

const startEngine = (dataDir: string, port = 0): Promise<Started> =>
  run(['serve', '--data-dir', dataDir, '--port', String(port), '--lease-ttl', '1500']);

const startBridge = ({ dataDir, workspace, recording }: Pick<System, 'dataDir' | 'workspace' | 'recording'>) =>
  run(['bridge', '--data-dir', dataDir, '--workspace', workspace, '--recording', recording]);

// The command writes a line when it starts and exits when the file `go` exists, so it can be killed in between.
const SCRIPT = `
const { appendFileSync, existsSync } = require('node:fs');
appendFileSync('marks.txt', 'ran\\n');
setInterval(() => { if (existsSync('go')) process.exit(0); }, 20);
`;

/**
 * Running commands that name a path. bubblewrap itself is not counted: killed during the set-up of a sandbox, it may leave
 * an empty one in which nothing runs.
 */
const commandsNaming = (path: string): readonly string[] =>
  readdirSync('/proc').flatMap((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
      return command.includes(path) && !/^[^\0]*bwrap\0/.test(command) ? [command] : [];
    } catch {
      return [];
    }
  });

async function startSystem(): Promise<System> {
  const home = await freshDirectory();
  const workspace = await freshDirectory(true);
  const dataDir = join(home, 'data');
  const recording = await writeRecording(home, [
    { calls: [{ id: 'open', name: 'open_session', arguments: {} }] },
    {
      calls: [
        { id: 'slow', name: 'shell', arguments: { argv: ['node', '-e', SCRIPT, workspace] } },
        { id: 'after', name: 'exists', arguments: { path: 'marks.txt' } },
      ],
    },
    { content: 'done' },
  ]);
  const engine = await startEngine(dataDir);
  const token = await readToken(tokenFile(dataDir, 'operator'));
  const client = connect(String(engine.ready['url']), token);
  clients.push(client);
  const { session_id: id } = await must(
    client.createSession({ config: { provider: 'recorded', model: 'test' }, consent: CONSENT_PRESETS.allow_all }),
  );
  return { dataDir, workspace, recording, engine, client, id };
}

const hasStarted = ({ event }: StreamEvent): boolean => event.kind === 'ToolCallStarted' && event.call_id === 'slow';
const hasEnded = ({ event }: StreamEvent): boolean => event.kind === 'ToolCallsObserved' && event.calls.length === 0;

async function marks(workspace: string): Promise<number> {
  const text = await readFile(join(workspace, 'marks.txt'), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line === 'ran').length;
}

async function expectIdenticalReplay({ client, id }: System): Promise<void> {
  const result = replay(await must(client.records(id)));
  const view = await must(client.session(id));
  expect(result).toMatchObject({ divergence: null, stateDigest: view.state_digest, chain: view.chain });
}

const settledOf = (events: readonly StreamEvent[], call: string) =>
  events.flatMap(({ event }) => (event.kind === 'ToolCallSettled' && event.call_id === call ? [event] : []));

test('when a bridge is killed during a call, another bridge finishes the run', async () => {
  const system = await startSystem();
  const first = await startBridge(system);
  await must(system.client.submit(system.id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
  await eventsUntil(system.client, system.id, hasStarted);
  await first.kill();
  await until('no command of the killed bridge is left', () => commandsNaming(system.workspace).length === 0);
  await startBridge(system);
  const events = await eventsUntil(system.client, system.id, hasEnded);
  expect(settledOf(events, 'slow')).toEqual([]);
  expect(events.filter(({ event }) => event.kind === 'LeaseExpired')).toHaveLength(1);
  expect(settledOf(events, 'after')).toHaveLength(1);
  const { state } = await must(system.client.session(system.id));
  expect(state.run_history.at(-1)?.ending.outcome).toBe('completed');
  const result = state.transcript.open.find((entry) => entry.call_id === 'slow');
  expect(result).toMatchObject({ is_error: true, content: { text: expect.stringContaining('outcome_unknown') } });
  // The bridge may have been killed before the command ran; the command never ran twice.
  expect(await marks(system.workspace)).toBeLessThanOrEqual(1);
  await expectIdenticalReplay(system);
});

test('when the engine is killed during a call, the run continues after its restart', async () => {
  const system = await startSystem();
  await startBridge(system);
  await must(system.client.submit(system.id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
  const before = await eventsUntil(system.client, system.id, hasStarted);
  await system.engine.kill();
  const port = Number(new URL(String(system.engine.ready['url'])).port);
  await startEngine(system.dataDir, port);
  await appendFile(join(system.workspace, 'go'), '');
  const events = await eventsUntil(system.client, system.id, hasEnded);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(settledOf(events, 'slow')).toMatchObject([{ result: { success: true, data: { exit_code: 0 } } }]);
  expect(await marks(system.workspace)).toBe(1);
  await expectIdenticalReplay(system);
});

test('when both are killed at once, the run still ends', async () => {
  const system = await startSystem();
  const bridge = await startBridge(system);
  await must(system.client.submit(system.id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
  await eventsUntil(system.client, system.id, hasStarted);
  await Promise.all([system.engine.kill(), bridge.kill()]);
  await startEngine(system.dataDir, Number(new URL(String(system.engine.ready['url'])).port));
  await startBridge(system);
  const events = await eventsUntil(system.client, system.id, hasEnded);
  expect(events.filter(({ event }) => event.kind === 'LeaseExpired')).toHaveLength(1);
  expect(await marks(system.workspace)).toBeLessThanOrEqual(1);
  await expectIdenticalReplay(system);
});

// What the conformance suite is run against: `refold serve` as a process of its own, a session with the suite's tools, a bridge
// that runs them, and a door on loopback that adds the token, which the suite cannot send. Host and Origin pass as they come.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { combineExecutors, runBridge, systemClock } from '../../dist/bridge/index.js';
import { connect } from '../../dist/src/client/index.js';
import { CONSENT_PRESETS } from '../../dist/src/toolsets/consent-presets.js';
import { PNG, TOOLS, executor } from './suite-tools.mjs';

const REFOLD = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

/**
 * `{ urlOf, close }`: every host that connects at the address of a scenario speaks for its session, which has the suite's
 * tools. Each has its own: a question that one scenario leaves open would keep the calls of the next waiting.
 */
export async function startSuiteServer() {
  const dataDir = mkdtempSync(join(tmpdir(), 'refold-mcp-'));
  const engine = spawn(
    process.execPath,
    [
      REFOLD,
      'serve',
      '--data-dir',
      dataDir,
      '--port',
      '0',
      '--json',
      '--exit-with-parent',
      '--host-answers',
      ...LEASES,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const lines = createInterface({ input: engine.stdout });
  const { url } = await new Promise((resolve, fail) => {
    lines.once('line', (line) => resolve(JSON.parse(line)));
    engine.once('exit', (code) => fail(new Error(`refold serve ended with ${code}`)));
  });
  const token = (scope) => readFileSync(join(dataDir, 'tokens', scope), 'utf8').trim();
  const operator = connect(url, token('operator'));
  const stop = new AbortController();
  const client = connect(url, token('bridge'));
  const bridge = runBridge({
    client,
    owner: 'suite-bridge',
    executors: combineExecutors([executor]),
    provider: { generate: () => Promise.reject(new Error('no model is asked')) },
    toolsOnly: true,
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
    signal: stop.signal,
  });
  const dying = startDyingBridge({ url, token: token('bridge') });
  const door = await openDoor(new URL(url), { token: token('operator'), names: await putResources(operator) });
  return {
    async urlOf(scenario) {
      const created = await operator.createSession(sessionOf(scenario))();
      if (created._tag === 'Left') throw new Error(JSON.stringify(created.left));
      return `http://127.0.0.1:${door.address().port}/${scenario}`;
    },
    async close() {
      stop.abort();
      await dying.stop();
      await bridge;
      await operator.close();
      await client.close();
      door.closeAllConnections();
      door.close();
      engine.stdin.end();
      await new Promise((resolve) => engine.once('exit', resolve));
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A bridge that dies is noticed soon. */
const LEASES = ['--lease-ttl', '2000'];

/** Another one follows each bridge that has died. */
function startDyingBridge(connection) {
  let count = 0;
  let worker;
  let stopped = false;
  const begin = () => {
    count += 1;
    const workerData = { ...connection, owner: `dying-bridge-${count}` };
    worker = new Worker(new URL('dying-bridge.mjs', import.meta.url), { workerData });
    worker.once('exit', () => stopped || begin());
  };
  begin();
  return {
    stop: async () => {
      stopped = true;
      await worker.terminate();
    },
  };
}

/** The suite's resources as blobs of ours: their addresses, by those that the suite reads. */
async function putResources(client) {
  const put = async (bytes) => {
    const stored = await client.putBlob(bytes)();
    if (stored._tag === 'Left') throw new Error(JSON.stringify(stored.left));
    return `refold://blob/${stored.right}`;
  };
  return {
    'test://static-text': await put(Buffer.from('This is the content of the static text resource.')),
    'test://static-binary': await put(Buffer.from(PNG, 'base64')),
  };
}

const sessionOf = (scenario) => ({
  session_id: scenario,
  consent: CONSENT_PRESETS.allow_all,
  config: { provider: 'external', model: 'mcp-host', host_session_open: false },
  tool_package: {
    registry: TOOLS,
    profiles: [{ profile_id: 'suite', tool_ids: TOOLS.map(({ tool_id }) => tool_id) }],
    provider_profiles: [{ provider_contains: '', profile_id: 'suite' }],
  },
});

/**
 * A server that passes each request on, with the token, to the session that its path names; the addresses of the suite's
 * resources are replaced by ours.
 */
async function openDoor({ hostname, port }, { token, names }) {
  const renamed = (text) => Object.entries(names).reduce((all, [theirs, ours]) => all.replaceAll(theirs, ours), text);
  const door = createServer(async (incoming, outgoing) => {
    const parts = [];
    for await (const part of incoming) parts.push(part);
    const body = renamed(Buffer.concat(parts).toString());
    const { 'content-length': _length, 'mcp-name': name, ...rest } = incoming.headers;
    const headers = {
      ...rest,
      ...(name === undefined ? {} : { 'mcp-name': renamed(name) }),
      ...(body === '' ? {} : { 'content-length': Buffer.byteLength(body) }),
      authorization: `Bearer ${token}`,
    };
    const path = `/mcp?session=${incoming.url.slice(1)}`;
    const passed = request({ hostname, port, path, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    passed.end(body);
  });
  door.listen(0, '127.0.0.1');
  await new Promise((resolve) => door.once('listening', resolve));
  return door;
}

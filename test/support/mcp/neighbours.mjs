// What hostile servers cost their bridge and a healthy server beside them: `node neighbours.mjs CALLS TRICK ...`, each trick one of
// `raw-server.mjs`, with its option after a colon. A process of its own, so that its memory is the bridge's. For each trick a line
// with the p95 of calls of the healthy server, in milliseconds, before the hostile one is there and while it is called without
// end, and how far the highest memory has grown until then, in MiB.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openMcp } from '../../../dist/bridge/mcp/mcp-executor.js';
import { systemClock } from '../../../dist/src/clock.js';

const SERVER = join(dirname(fileURLToPath(import.meta.url)), 'raw-server.mjs');
const [, , count, ...tricks] = process.argv;
const CALLS = Number(count);
const PACE_MS = 4;
const RAGING_AT_ONCE = 4;
const CALL_MS = 2_000;
const WARM_CALLS = 10 * CALLS;

const print = (line) => void process.stdout.write(`${JSON.stringify(line)}\n`);
const server = (trick, option = '') => ({ command: process.execPath, args: [SERVER, trick, option] });
const highestMib = () => process.resourceUsage().maxRSS / 1_024;

/** The MCP part of a bridge with a healthy server; the hostile one is added to its configuration. */
async function open() {
  const directory = mkdtempSync(join(tmpdir(), 'refold-neighbours-'));
  const configFile = join(directory, 'mcp.json');
  const configure = (mcpServers) => writeFileSync(configFile, JSON.stringify({ mcpServers }));
  const good = server('plain');
  configure({ good });
  let onReady = () => undefined;
  const mcp = await openMcp({
    configFile,
    owner: 'neighbours',
    variables: {},
    hidden: [directory],
    clock: systemClock,
    random: () => 0,
    log: ({ event, server: name }) => name === 'bad' && event.startsWith('mcp_server_') && onReady(),
  });
  await mcp.toolsets.ready();
  const call = (tool_id, signal = AbortSignal.timeout(CALL_MS)) =>
    mcp.executor.run(
      { session_id: 's', call_id: 'c', tool_id, executor: { kind: 'custom' } },
      {},
      {
        signal,
        timeoutMs: CALL_MS,
        outputBytesMax: 30_000,
        putBlob: () => Promise.resolve(`sha256:${'0'.repeat(64)}`),
      },
    );
  return {
    call,
    /** Adds the hostile server; resolves when it is ready, or was found to be broken. */
    add: (bad) =>
      new Promise((resolve) => {
        onReady = resolve;
        configure({ good, bad });
      }),
    badTool: () => {
      const set = mcp.toolsets.toolsets().find(({ toolset }) => toolset === 'mcp.bad');
      return set?.tools[0]?.spec.tool_id ?? 'mcp.bad.echo';
    },
    close: async () => {
      await mcp.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function p95Of(call) {
  const times = [];
  for (let at = 0; at < CALLS; at += 1) {
    const from = performance.now();
    const { success } = await call('mcp.good.echo');
    if (!success) throw new Error('the healthy server did not answer');
    times.push(performance.now() - from);
    await sleep(PACE_MS);
  }
  return times.sort((a, b) => a - b)[Math.floor(CALLS * 0.95)];
}

async function measure(trick, option) {
  const { call, add, badTool, close } = await open();
  try {
    const quietMs = await p95Of(call);
    // A server that is silent at its start is hostile all the same.
    await Promise.race([add(server(trick, option)), sleep(3_000)]);
    const over = new AbortController();
    const raging = Array.from({ length: RAGING_AT_ONCE }, async () => {
      while (!over.signal.aborted) {
        await call(badTool(), AbortSignal.any([over.signal, AbortSignal.timeout(CALL_MS)]));
        await sleep(1);
      }
    });
    const ragingMs = await p95Of(call);
    over.abort();
    await Promise.all(raging);
    return { trick, quietMs, ragingMs };
  } finally {
    await close();
  }
}

/** What a busy bridge has loaded and holds is no cost of a hostile server. */
async function warmUp() {
  const { call, close } = await open();
  const calling = Array.from({ length: RAGING_AT_ONCE }, async () => {
    for (let at = 0; at < WARM_CALLS; at += 1) await call('mcp.good.echo');
  });
  await Promise.all(calling);
  await close();
  await measure('plain', '');
}

await warmUp();
const before = highestMib();
for (const named of tricks) {
  const [trick, option] = named.split(':');
  print({ ...(await measure(trick, option)), highestMib: highestMib() - before });
}

// MCP servers of a bridge: how long many of them take until their tools are there, and what a call costs over the bare SDK. The
// servers are real processes, in their sandbox where there is one.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type Mcp, openMcp } from '../../bridge/mcp/mcp-executor.ts';
import { brand } from '../../schemas/ids.ts';
import { sleep, systemClock } from '../../src/clock.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { MCP_SERVER } from '../processes.ts';
import { type Row, atMost, rowOf } from '../row.ts';
import { percentile } from '../spread.ts';

export const mcp: Figure = { name: 'mcp', run: measure };

const TOOLS = 20;
const REACH_ATTACH_MS = 2_000;
const REACH_CALL_MS = 2;

async function measure(bench: Bench): Promise<readonly Row[]> {
  return [...(await attach(bench)), await calls(bench)];
}

async function attach(bench: Bench): Promise<readonly Row[]> {
  const runs = sized(bench, 1, 5);
  const servers = sized(bench, 2, 50);
  const wall: number[] = [];
  const cpu: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    bench.progress(`mcp: run ${run + 1}/${runs}`);
    const before = process.cpuUsage();
    const from = performance.now();
    const opened = await openServers(bench, servers);
    await untilListed(opened, servers * TOOLS);
    wall.push(performance.now() - from);
    const used = process.cpuUsage(before);
    cpu.push((used.user + used.system) / 1_000);
    await opened.close();
  }
  const what = `${servers} MCP servers with ${TOOLS} tools each attach`;
  return [
    rowOf({ what, unit: 'ms', values: wall, reach: atMost(REACH_ATTACH_MS) }),
    rowOf({ what: `${what}: processor time of the bridge`, unit: 'ms', values: cpu }),
  ];
}

const LISTED_MS_MAX = 60_000;

/** A bridge begins without a server that takes long; its tools are listed later. */
async function untilListed({ toolsets }: Mcp, tools: number): Promise<void> {
  await toolsets.ready();
  const from = performance.now();
  for (;;) {
    const listed = toolsets.toolsets().reduce((sum, one) => sum + one.tools.length, 0);
    if (listed === tools) return;
    if (performance.now() - from > LISTED_MS_MAX)
      throw new Error(`${listed} tools were listed, and ${tools} are there`);
    await sleep(systemClock, 5);
  }
}

async function calls(bench: Bench): Promise<Row> {
  const runs = sized(bench, 1, 7);
  const count = sized(bench, 10, 500);
  const opened = await openServers(bench, 1);
  const client = new Client({ name: 'bench', version: '1' });
  try {
    await untilListed(opened, TOOLS);
    const args = [MCP_SERVER, String(TOOLS)];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    const contest = {
      bare: () => medianOf(count, () => client.callTool({ name: 'tool_0', arguments: { text: 'a' } })),
      refold: () => medianOf(count, () => call(opened)),
    };
    const { bare, refold } = await alternate(runs, contest);
    const values = refold.map((ms, run) => ms - (bare[run] ?? Number.NaN));
    return rowOf({
      what: 'a call of an MCP tool, over the bare SDK (p50)',
      unit: 'ms',
      values,
      limit: { what: 'the bare SDK', values: bare },
      reach: atMost(REACH_CALL_MS),
    });
  } finally {
    await client.close();
    await opened.close();
  }
}

async function medianOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return percentile(times, 0.5);
}

async function openServers(bench: Bench, count: number): Promise<Mcp> {
  const configFile = join(await bench.directory(), 'mcp.json');
  const one = { command: process.execPath, args: [MCP_SERVER, String(TOOLS)] };
  const mcpServers = Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${at}`, one]));
  await writeFile(configFile, JSON.stringify({ mcpServers }));
  return await openMcp({
    configFile,
    logins: null,
    owner: brand('mcp-config'),
    variables: {},
    hidden: [],
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
  });
}

async function call({ executor }: Mcp): Promise<void> {
  const target = {
    session_id: brand<'SessionId'>('s'),
    call_id: brand<'CallId'>('c'),
    tool_id: brand<'ToolId'>('mcp.s0.tool_0'),
  };
  const report = await executor.run(
    { ...target, executor: { kind: 'custom' } },
    { text: 'a' },
    {
      signal: new AbortController().signal,
      timeoutMs: 60_000,
      outputBytesMax: 30_000,
      putBlob: () => Promise.reject(new Error('no call of the bench makes a blob')),
    },
  );
  if (!('success' in report) || !report.success) throw new Error('a call failed');
}

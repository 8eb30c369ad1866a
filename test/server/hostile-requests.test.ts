// No request holds the event loop of an engine for long, however hostile it is: else one client delays all others.
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { CORPUS } from '../support/hostile/corpus.ts';
import { heldBy, sendHostile } from '../support/hostile/held.ts';

import { serveForAll } from '../support/engine/serving.ts';
import { packageOf } from '../support/engine/world.ts';
import { FREE, testPackage } from '../support/tools.ts';
import type { Target } from '../support/hostile/request.ts';

const server = serveForAll();

test('scan', async () => {
  const { engine: { client }, served: { port } } = server();
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let n = 0;
  const target: Target = {
    client,
    async generating(tools) {
      n += 1;
      const tool_package = tools === undefined ? testPackage() : Array.isArray(tools) ? packageOf(tools as never) : (tools as never);
      const { session_id } = await must(client.createSession({ session_id: `h-${n}` as never, tool_package }));
      await must(client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'go' } }] as never }));
      return session_id;
    },
    async called(tools, calls) {
      const id = await target.generating(tools);
      await must(client.submit(id as never, { events: [{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }] as never }));
      return id;
    },
  };
  void FREE;
  console.log('cases', CORPUS.length);
  const rows: string[] = [];
  const only = process.env['ONLY'];
  for (const { name, requests } of CORPUS) {
    if (only !== undefined && !new RegExp(only).test(name)) continue;
    if (process.env['NOT'] !== undefined && new RegExp(process.env['NOT']).test(name)) continue;
    let made;
    try { made = await requests(target); } catch (error) { rows.push(`999999 SETUP ${name} ${String(error).slice(0, 200)}`); continue; }
    const t0 = performance.now();
    let statuses: number[] = [];
    const held = await heldBy(async () => { statuses = await Promise.all(made.map((one) => sendHostile(agent, port, one))); });
    const took = performance.now() - t0;
    const idle = await heldBy(() => wait(20));
    (await import('node:fs')).appendFileSync('/tmp/load-scratch/scan-now.txt', `${held.toFixed(0).padStart(6)} held idle ${idle.toFixed(0)} took ${took.toFixed(0)} ${name} ${[...new Set(statuses)].join(' ')}\n`);
    rows.push(`${held.toFixed(0).padStart(6)} ms held, idle ${idle.toFixed(0)}, took ${took.toFixed(0)} ${name} ${[...new Set(statuses)].join(' ')}`);
  }
  rows.sort().reverse();
  (await import('node:fs')).writeFileSync('/tmp/load-scratch/scan.txt', rows.join('\n'));
  agent.destroy();
  expect(1).toBe(1);
}, 900_000);

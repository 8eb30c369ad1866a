// What readers of a client stream cost the engine: processor time that 256 readers of one session add to each of its turns, while
// half of them take nothing. The readers are in the process of the bench, whose time does not count.
import { once } from 'node:events';
import { type Socket, connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import type { SessionId } from '../../schemas/ids.ts';
import { brand } from '../../schemas/ids.ts';
import { SUBSCRIBERS_MAX } from '../../schemas/limits.ts';
import { type EngineClient, connect } from '../../src/client/index.ts';
import { must } from '../../src/client/must.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { modelOf } from '../actors.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { BRIDGE_PROCESS, type Child, type ChildLine, type EngineReady, startChild, startServe } from '../processes.ts';
import { type Row, atMost, rowOf } from '../row.ts';
import { UNBOUNDED } from '../stream.ts';
import { benchPackage } from '../tools.ts';

export const readers: Figure = { name: 'readers', run: measure };

/** A turn whose model answers in two seconds: readers may add a twentieth to it. */
const TURN_MS = 2_000;
const REACH_MS = TURN_MS / 20;

async function measure(bench: Bench): Promise<readonly Row[]> {
  const runs = sized(bench, 1, 5);
  const turns = sized(bench, 2, 40);
  const many = sized(bench, 16, SUBSCRIBERS_MAX);
  const dataDir = join(await bench.directory(), 'data');
  const engine = await startServe(dataDir);
  const { url } = engine.ready;
  const token = await readToken(tokenFile(dataDir, 'operator'));
  const bridge = await startChild<ChildLine>([BRIDGE_PROCESS, url, tokenFile(dataDir, 'bridge')]);
  const client = connect(url, token);
  const added: number[] = [];
  try {
    for (let run = 0; run < runs; run += 1) {
      bench.progress(`readers: run ${run + 1}/${runs}`);
      const perTurn = async (count: number): Promise<number> =>
        (await cpuOfRun({ engine, client, token }, turns, count)) / turns;
      // One reader takes the stream to its end in either case.
      const alone = await perTurn(2);
      added.push((await perTurn(many)) - alone);
    }
  } finally {
    await client.close();
    await bridge.stop();
    await engine.stop();
  }
  const what = `processor time that ${SUBSCRIBERS_MAX} readers, half of them stalled, add to a turn of their session`;
  return [rowOf({ what, unit: 'ms', values: added, reach: atMost(REACH_MS) })];
}

interface Served {
  readonly engine: Child<EngineReady>;
  readonly client: EngineClient;
  readonly token: string;
}

/** The processor time of the engine for a run of so many turns, until each reader that takes what it gets has all. */
async function cpuOfRun({ engine, client, token }: Served, turns: number, count: number): Promise<number> {
  const config = { ...UNBOUNDED, model: modelOf(turns) };
  const made = { config, tool_package: benchPackage(), consent: CONSENT_PRESETS.allow_all };
  const { session_id } = await must(client.createSession(made));
  const sockets = Array.from({ length: count }, () => follow(engine.ready.url, session_id, token));
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  const taking = sockets.filter((socket, index) => {
    if (index % 2 === 1) socket.pause();
    return index % 2 === 0;
  });
  const before = engine.cpuMs();
  const ended = Promise.all(taking.map(untilEnd));
  const go = { kind: 'RunRequested', event_id: brand<'EventId'>('go'), input: { text: 'go on' } } as const;
  await must(client.submit(session_id, { events: [go] }));
  await ended;
  const used = engine.cpuMs() - before;
  for (const socket of sockets) socket.destroy();
  return used;
}

function follow(url: string, id: SessionId, token: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connectSocket(Number(port), hostname);
  const head = [`GET /v1/sessions/${id}/stream HTTP/1.1`, `host: ${hostname}`, `authorization: Bearer ${token}`];
  socket.on('error', () => undefined);
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return socket;
}

function untilEnd(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    let last = '';
    socket.on('data', (chunk: Buffer) => {
      last = `${last.slice(-COMPLETED.length)}${chunk.toString('latin1')}`;
      if (last.includes(COMPLETED)) resolve();
    });
  });
}

const COMPLETED = '"phase":"completed"';

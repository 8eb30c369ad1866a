// How long what a model writes takes to reach a person who watches: from the bridge that reads it, through the engine in
// another process, to a follower. And how many durable writes that costs: none.
import { join } from 'node:path';
import { runBridge } from '../../bridge/loop.ts';
import { combineExecutors } from '../../bridge/executors/executors.ts';
import type { Provider } from '../../bridge/providers/provider.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { systemClock } from '../../src/clock.ts';
import { type EngineClient, connect } from '../../src/client/index.ts';
import { must } from '../../src/client/must.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { startServe } from '../processes.ts';
import { seeded } from '../random.ts';
import { type Row, atMost, rowOf } from '../row.ts';

export const deltas: Figure = { name: 'deltas', run: measure };

/** Of a token that a model writes to the frame that shows it, at the 95th percentile, in milliseconds. */
const REACH_MS = 50;
const GAP_MS_MAX = 40;

async function measure(bench: Bench): Promise<readonly Row[]> {
  const tokens = sized(bench, 20, 400);
  const runs = sized(bench, 1, 3);
  const dataDir = join(await bench.directory(), 'data');
  const engine = await startServe(dataDir);
  const { url } = engine.ready;
  const operator = await readToken(tokenFile(dataDir, 'operator'));
  const client = connect(url, operator);
  const bridgeClient = connect(url, await readToken(tokenFile(dataDir, 'bridge')));
  const writesOf = () => durableWrites(url, operator);
  const writing: number[] = [];
  const stop = new AbortController();
  const served = runBridge({
    client: bridgeClient,
    owner: brand('bench'),
    executors: combineExecutors([]),
    provider: writer(tokens, async () => void writing.push(await writesOf())),
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
    signal: stop.signal,
  });
  const delays: number[] = [];
  const writes: number[] = [];
  try {
    for (let run = 0; run < runs; run += 1) {
      bench.progress(`deltas: run ${run + 1}/${runs}`);
      const times = (await watched(client)).toSorted((a, b) => a - b);
      delays.push(times[Math.floor(times.length * 0.95)] ?? NaN);
      const [before = 0, after = 0] = writing.splice(0);
      writes.push(after - before);
    }
  } finally {
    stop.abort();
    await served;
    for (const opened of [client, bridgeClient]) await opened.close();
    await engine.stop();
  }
  const what = `a token of a model until a follower shows it, p95 of ${tokens}`;
  return [
    rowOf({ what, unit: 'ms', values: delays, reach: atMost(REACH_MS) }),
    rowOf({ what: 'durable writes while a model writes', unit: 'writes', values: writes, reach: atMost(0) }),
  ];
}

/** Writes tokens that say when they were written, at random times; `look` is called before the first and after the last. */
function writer(tokens: number, look: () => Promise<void>): Provider {
  const random = seeded(1);
  return {
    async generate(_request, _signal, onDelta) {
      await look();
      for (let token = 0; token < tokens; token += 1) {
        onDelta?.({ kind: 'text', text: `${performance.now().toFixed(2)} ` });
        await new Promise((resolve) => {
          setTimeout(resolve, random() * GAP_MS_MAX);
        });
      }
      await look();
      return { content: 'done', calls: [], stop: { reason: 'end' } };
    },
  };
}

/** How long each token took, in milliseconds, up to the last that was shown before the record took their place. */
async function watched(client: EngineClient): Promise<readonly number[]> {
  const { session_id } = await must(client.createSession());
  const ended = new AbortController();
  const frames = client.followLive(session_id, { signal: ended.signal });
  const taken = delaysOf(frames);
  await request(client, session_id);
  const delays = await taken;
  ended.abort();
  return delays;
}

async function request(client: EngineClient, id: SessionId): Promise<void> {
  await must(
    client.submit(id, { events: [{ kind: 'RunRequested', event_id: brand('go'), input: { text: 'go on' } }] }),
  );
}

async function delaysOf(frames: ReturnType<EngineClient['followLive']>): Promise<readonly number[]> {
  const delays: number[] = [];
  for await (const item of frames) {
    if (item.kind === 'commit') {
      if (item.events.some(({ kind }) => kind === 'ToolCallsObserved')) return delays;
      continue;
    }
    const now = performance.now();
    for (const { text } of item.parts) {
      for (const written of text.trim().split(' ')) delays.push(now - Number(written));
    }
  }
  return delays;
}

/** How many synchronous writes the journal of an engine has made. */
async function durableWrites(url: string, token: string): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const count = /^refold_journal_write_seconds_count (\d+)$/m.exec(await answer.text());
  return Number(count?.[1] ?? NaN);
}

// A thousand open sessions: most wait for a slow model, and every twentieth is in a call that may not be repeated. Engine
// and bridge are killed without warning and started again. Measures the time until the new bridge has received work of
// every session, and how many of these calls ran twice. No lease has to expire: the new bridge finds the ledger of the old
// one and releases its leases.
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brand } from '../../schemas/ids.ts';
import { type EngineClient, connect } from '../../src/client/index.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { markedSession } from '../actors.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { must } from '../../src/client/must.ts';
import { BRIDGE_PROCESS, type Child, type ChildLine, type EngineReady, startChild, startServe } from '../processes.ts';
import { type Row, atMost, rowOf } from '../row.ts';
import { UNBOUNDED } from '../stream.ts';
import { benchPackage } from '../tools.ts';

const REACH_MS = 2_000;
const LEASE_TTL_MS = 15_000;
const GIVE_UP_MS = 120_000;
const OPENED_TOGETHER = 50;

export const restart: Figure = { name: 'restart', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const sessions = sized(bench, 4, 1_000);
  const runs = sized(bench, 1, 3);
  const measured: Restarted[] = [];
  for (let run = 1; run <= runs; run += 1) {
    bench.progress(`restart of ${sessions} sessions: run ${run}/${runs}`);
    measured.push(await restartOnce(await bench.directory(), sessions));
  }
  bench.note(`restart: leases last ${LEASE_TTL_MS} ms; the new bridge releases the leases of the old one at once`);
  return [
    rowOf({
      what: `${sessions} open sessions killed and restarted: all are loaded`,
      unit: 'ms',
      values: measured.map(({ listeningMs }) => listeningMs),
    }),
    rowOf({
      what: `${sessions} open sessions killed and restarted: half have continued`,
      unit: 'ms',
      values: measured.map(({ halfMs }) => halfMs),
    }),
    rowOf({
      what: `${sessions} open sessions killed and restarted: all have continued`,
      unit: 'ms',
      values: measured.map(({ allMs }) => allMs),
      reach: atMost(REACH_MS),
    }),
    rowOf({
      what: 'repeats of calls that may not be repeated',
      unit: '',
      values: measured.map(({ repeats }) => repeats),
      reach: atMost(0),
    }),
  ];
}

interface Restarted {
  readonly listeningMs: number;
  readonly halfMs: number;
  readonly allMs: number;
  readonly repeats: number;
}

async function restartOnce(directory: string, sessions: number): Promise<Restarted> {
  const dataDir = join(directory, 'data');
  const marks = join(directory, 'marks');
  await writeFile(marks, '');
  const engine = await startEngine(dataDir, 0);
  const { url } = engine.ready;
  const before = newProgress('settled', sessions);
  const bridge = await startBridge({ dataDir, marks, url }, before.note);
  const client = connect(url, await readToken(tokenFile(dataDir, 'operator')));
  await openSessions(client, sessions);
  await before.reached(sessions);
  await Promise.all([engine.kill(), bridge.kill()]);
  await client.close();

  const killedAt = performance.timeOrigin + performance.now();
  const since = (atMs: number): number => atMs - killedAt;
  const after = newProgress('begun', sessions);
  // Both start at the same time, as under a supervisor: the bridge waits for the engine.
  const starting = startEngine(dataDir, Number(new URL(url).port));
  const bridgeStarting = startBridge({ dataDir, marks, url }, after.note);
  const again = await starting;
  const listeningMs = since(performance.timeOrigin + performance.now());
  const bridgeAgain = await bridgeStarting;
  const allMs = since(await after.reached(sessions));
  const halfMs = since(await after.reached(Math.ceil(sessions / 2)));
  await Promise.all([bridgeAgain.kill(), again.kill()]);
  const lines = (await readFile(marks, 'utf8')).split('\n').filter((line) => line !== '');
  return { listeningMs, halfMs, allMs, repeats: lines.length - new Set(lines).size };
}

const startEngine = (dataDir: string, port: number): Promise<Child<EngineReady>> =>
  startServe(dataDir, port, ['--lease-ttl', String(LEASE_TTL_MS)]);

interface Place {
  readonly dataDir: string;
  readonly marks: string;
  readonly url: string;
}

const startBridge = ({ dataDir, marks, url }: Place, onLine: (line: ChildLine) => void): Promise<Child<ChildLine>> =>
  startChild([BRIDGE_PROCESS, url, tokenFile(dataDir, 'bridge'), marks], onLine);

// One client opens a few at a time: a thousand connections at once are not measured here.
async function openSessions(client: EngineClient, count: number): Promise<void> {
  const tool_package = benchPackage();
  const events = [{ kind: 'RunRequested', event_id: brand<'EventId'>('go'), input: { text: 'go on' } }] as const;
  for (let from = 0; from < count; from += OPENED_TOGETHER) {
    const opening = Array.from({ length: Math.min(count - from, OPENED_TOGETHER) }, async (_, index) => {
      const session_id = brand<'SessionId'>(markedSession(from + index));
      await must(
        client.createSession({ session_id, config: UNBOUNDED, tool_package, consent: CONSENT_PRESETS.allow_all }),
      );
      await must(client.submit(session_id, { events }));
    });
    await Promise.all(opening);
  }
}

interface Progress {
  readonly note: (line: ChildLine) => void;
  /** When this many sessions had continued, by the wall clock. */
  reached(count: number): Promise<number>;
}

function newProgress(what: 'begun' | 'settled', sessions: number): Progress {
  const times: number[] = [];
  let onTime: () => void = () => undefined;
  return {
    note(line) {
      if (line.event !== what) return;
      times.push(line.at_ms);
      onTime();
    },
    reached: (count) =>
      new Promise((resolve, fail) => {
        const giveUp = setTimeout(() => {
          fail(new Error(`work of ${times.length} of ${sessions} sessions was ${what} within ${GIVE_UP_MS} ms`));
        }, GIVE_UP_MS);
        onTime = () => {
          if (times.length < count) return;
          clearTimeout(giveUp);
          resolve(times.toSorted((a, b) => a - b)[count - 1] ?? NaN);
        };
        onTime();
      }),
  };
}

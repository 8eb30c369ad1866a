// Decoding the answers of models. The limit is JSON.parse of the same data, in CPU time: streams are folded and read, bodies
// are read. Then the largest answers that are taken or refused, and how long one holds the event loop.
import { toObservedCalls } from '../../bridge/generate/observed-calls.ts';
import { newCollectedBytes } from '../../bridge/providers/api/collected-bytes.ts';
import type { Dialect, StreamEvent } from '../../bridge/providers/api/dialect.ts';
import { loadDialect } from '../../bridge/providers/api/dialects.ts';
import { exactText, parseExact } from '../../bridge/providers/api/exact-json.ts';
import { readAnswer } from '../../bridge/providers/api/read-body.ts';
import { type GenerateReply, ProviderError } from '../../bridge/providers/provider.ts';
import type { ModelApi } from '../../schemas/model-turn.ts';
import { MODEL_SERVER_NAMES } from '../../src/files/model-servers.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { LARGEST_BYTES, largeAnswer, readAsBridge } from '../large-answers.ts';
import { type Turn, turnEvents } from '../model-traffic.ts';
import { ANSWER_PROCESS, type MemoryTaken, runToEnd } from '../processes.ts';
import { type Row, atMost, ratioAtMost, rowOf } from '../row.ts';
import { runSteps } from '../../src/core/steps.ts';

const REACH_RATIO = 3;
const REACH_LARGE_S = 1.5;
const REACH_HOLD_MS = 50;
const REACH_MEMORY_MB = 32 + (6 * LARGEST_BYTES) / 1_000_000;

const MIB = 1_048_576;
const LARGE_BYTES = 16 * MIB;

export const decode: Figure = { name: 'decode', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const dialects = await allDialects();
  const rows: Row[] = [];
  for (const dialect of dialects) rows.push(...(await ratioRows(bench, dialect)));
  rows.push(...largeRows(bench, dialects), await holdRow(bench, dialects));
  for (const shape of ['line', 'body'] as const) rows.push(...(await largestRows(bench, shape)));
  return rows;
}

/** One of each API: two servers may have the same format. */
async function allDialects(): Promise<readonly Dialect[]> {
  const loaded = await Promise.all(MODEL_SERVER_NAMES.map(loadDialect));
  return [...new Map(loaded.map((dialect): [ModelApi, Dialect] => [dialect.api, dialect])).values()];
}

/** A text of some hundred words, and two calls. */
const typicalTurn = (): Turn => ({
  texts: Array.from({ length: 300 }, (_, index) => (index % 7 === 0 ? ' the file "src/a.ts"\n' : ' some words')),
  calls: ['a', 'b'].map((id) => ({ id: `call_${id}`, pieces: argumentPieces(60, 12) })),
});

/** JSON of an object with one text, in so many pieces of so many characters. */
function argumentPieces(count: number, chars: number): readonly string[] {
  return ['{"path":"src/a.ts","text":"', ...Array.from({ length: count }, () => 'x'.repeat(chars)), '"}'];
}

async function ratioRows(bench: Bench, dialect: Dialect): Promise<readonly Row[]> {
  const events = turnEvents(dialect.api, typicalTurn());
  const lines = events.map(({ data }) => data).filter((data) => data.startsWith('{'));
  const body = exactText(folded(dialect, events));
  const rounds = sized(bench, 2, 100);
  const runs = sized(bench, 1, 7);
  const contest = {
    stream: () => cpuMs(rounds, () => readStream(dialect, events)),
    streamParse: () => cpuMs(rounds, () => lines.forEach((line) => JSON.parse(line))),
    body: () => cpuMs(30 * rounds, () => runSteps(dialect.read(parseExact(body)))),
    bodyParse: () => cpuMs(30 * rounds, () => JSON.parse(body)),
  };
  for (const warmUp of Object.values(contest)) warmUp();
  const values = await alternate(runs, contest, (run) => bench.progress(`decode, ${dialect.api}: run ${run}/${runs}`));
  return [
    ratioRow(`${dialect.api}: ${events.length} events of a stream`, values.stream, values.streamParse),
    ratioRow(`${dialect.api}: the same as one body`, values.body, values.bodyParse),
  ];
}

const ratioRow = (what: string, values: readonly number[], parse: readonly number[]): Row =>
  rowOf({ what, unit: 'ms', values, limit: { what: 'JSON.parse', values: parse }, reach: ratioAtMost(REACH_RATIO) });

/** CPU time of one round, in milliseconds. */
function cpuMs(rounds: number, work: () => unknown): number {
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / rounds;
}

function folded(dialect: Dialect, events: readonly StreamEvent[]): NonNullable<ReturnType<typeof parseExact>> {
  const fold = dialect.newFold();
  for (const event of events) fold.add(event);
  const final = runSteps(fold.final());
  if (final === null) throw new Error(`the stream of ${dialect.api} does not end`);
  return final;
}

const readStream = (dialect: Dialect, events: readonly StreamEvent[]): GenerateReply =>
  runSteps(dialect.read(folded(dialect, events)));

/** The turns that are as large as an answer may be, and one with more calls than a batch may have. */
const LARGE: Readonly<Record<string, (scale: number) => Turn>> = {
  '16 MiB of arguments in one call': (scale) => ({
    texts: [],
    calls: [{ id: 'call_a', pieces: argumentPieces(1_000, (LARGE_BYTES * scale) / 1_000) }],
  }),
  '16 MiB of arguments in 10,000 calls': (scale) => ({
    texts: [],
    calls: Array.from({ length: 10_000 * scale }, (_, index) => ({
      id: `call_${index}`,
      pieces: argumentPieces(1, LARGE_BYTES / 10_000),
    })),
  }),
  '100,000 calls': (scale) => ({
    texts: [],
    calls: Array.from({ length: 100_000 * scale }, (_, index) => ({ id: `call_${index}`, pieces: ['{}'] })),
  }),
};

/** The time from the events to the observed calls, or to their refusal, of the slowest API. */
function largeRows(bench: Bench, dialects: readonly Dialect[]): readonly Row[] {
  const runs = sized(bench, 1, 3);
  return Object.entries(LARGE).map(([what, turnOf]) => {
    const turn = turnOf(sized(bench, 0.01, 1));
    const values = Array.from({ length: runs }, () => 0);
    for (const dialect of dialects) {
      // Written once for all runs: that takes longer than to read them.
      const events = turnEvents(dialect.api, turn);
      for (let run = 0; run < runs; run += 1) {
        bench.progress(`decode, ${what}, ${dialect.api}: run ${run + 1}/${runs}`);
        values[run] = Math.max(values[run] ?? 0, observeSeconds(dialect, events));
      }
    }
    return rowOf({ what: `${what}, slowest API`, unit: 's', values, reach: atMost(REACH_LARGE_S) });
  });
}

function observeSeconds(dialect: Dialect, events: readonly StreamEvent[]): number {
  const started = timesMs();
  try {
    runSteps(toObservedCalls(1, readStream(dialect, events).calls));
  } catch (error) {
    // More calls than a batch may have.
    if (!(error instanceof ProviderError)) throw error;
  }
  return msSince(started, timesMs()) / 1_000;
}

/** The longest time between two turns of the event loop while a large stream is read; AWS frames are left out. */
async function holdRow(bench: Bench, dialects: readonly Dialect[]): Promise<Row> {
  const turn: Turn = {
    texts: Array.from({ length: sized(bench, 100, 20_000) }, () => ' some words of a long text'),
    calls: [{ id: 'call_a', pieces: argumentPieces(sized(bench, 10, 20_000), 100) }],
  };
  const values: number[] = [];
  for (let run = 1; run <= sized(bench, 1, 3); run += 1) {
    const holds: number[] = [];
    for (const dialect of dialects.filter(({ framing }) => framing === 'sse')) {
      bench.progress(`decode, event loop, ${dialect.api}: run ${run}`);
      const bytes = new TextEncoder().encode(sseText(turnEvents(dialect.api, turn)));
      holds.push(await longestHoldMs(async () => void runSteps(dialect.read(await readAll(dialect, bytes)))));
    }
    values.push(Math.max(...holds));
  }
  return rowOf({
    what: 'longest hold of the event loop by a stream, slowest API',
    unit: 'ms',
    values,
    reach: atMost(REACH_HOLD_MS),
  });
}

/** The largest answer in one piece of JSON, with a key that is cut out: how long it holds the event loop, and its memory. */
async function largestRows(bench: Bench, shape: 'line' | 'body'): Promise<readonly Row[]> {
  const what = shape === 'line' ? 'one event' : 'one body';
  const bytes = sized(bench, 200_000, LARGEST_BYTES);
  const answer = largeAnswer(shape, bytes, true);
  const text = answer.toString();
  const json = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  const runs = sized(bench, 1, 5);
  const holds = await alternate(
    runs,
    {
      answer: () => longestHoldMs(async () => void (await readAsBridge(answer))),
      parse: () => longestHoldMs(() => Promise.resolve(void JSON.parse(json))),
      idle: () => longestHoldMs(() => new Promise((resolve) => void setTimeout(resolve, 100))),
    },
    (run) => bench.progress(`decode, ${what}: run ${run}/${runs}`),
  );
  const idle = { what: 'idle loop', values: holds.idle };
  const memory: number[] = [];
  for (let run = 1; run <= sized(bench, 1, 3); run += 1) {
    bench.progress(`decode, memory of ${what}: run ${run}`);
    memory.push(await memoryMb(shape, bytes));
  }
  return [
    rowOf({
      what: `longest hold of the event loop by 16 MiB in ${what}`,
      unit: 'ms',
      values: holds.answer,
      limit: idle,
      reach: atMost(REACH_HOLD_MS),
    }),
    rowOf({ what: `the same by JSON.parse of the same text`, unit: 'ms', values: holds.parse, limit: idle }),
    rowOf({ what: `memory for 16 MiB in ${what}`, unit: 'MB', values: memory, reach: atMost(REACH_MEMORY_MB) }),
  ];
}

async function memoryMb(shape: 'line' | 'body', bytes: number): Promise<number> {
  const { code, stdout } = await runToEnd([ANSWER_PROCESS, shape, String(bytes)]);
  if (code !== 0) throw new Error(`the process ended with ${code}`);
  return (JSON.parse(stdout) as MemoryTaken).mb;
}

const sseText = (events: readonly StreamEvent[]): string =>
  events.map(({ name, data }) => `${name === null ? '' : `event: ${name}\n`}data: ${data}\n\n`).join('');

function readAll(dialect: Dialect, bytes: Uint8Array): ReturnType<typeof readAnswer> {
  const silence = {
    signal: new AbortController().signal,
    message: '',
    heard: () => undefined,
    isOver: () => false,
    end: () => undefined,
  };
  return readAnswer(new Response(bytes), silence, dialect, { onDelta: () => undefined, received: newCollectedBytes() });
}

interface Times {
  readonly wall: number;
  readonly cpu: number;
}

/** Other processes lengthen the time, and threads that collect garbage the CPU time. */
const msSince = (before: Times, now: Times): number => Math.min(now.wall - before.wall, now.cpu - before.cpu);

function timesMs(): Times {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), cpu: (user + system) / 1_000 };
}

async function longestHoldMs(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = timesMs();
  let running = true;
  const look = (): void => {
    const now = timesMs();
    longest = Math.max(longest, msSince(last, now));
    last = now;
    if (running) setImmediate(look);
  };
  setImmediate(look);
  try {
    await work();
    look();
  } finally {
    // Also after a failure: a loop that goes on would keep the process alive.
    running = false;
  }
  return longest;
}

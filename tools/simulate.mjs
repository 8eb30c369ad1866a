// Simulates refold's own bridge and engine under many seeds, on as many processes as asked for, and says how fast. Exit
// 1 when a seed breaks a law, with what is needed to understand it and the command that repeats it.
//
//   npm run simulate -- [--seeds 1..5000] [--jobs 2]
//   npm run simulate -- --seed 17            one seed, with everything that happened
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { combineExecutors, runBridge } from '../dist/bridge/index.js';
import { noBridgeLedger, openBridgeLedger } from '../dist/bridge/ledger/bridge-ledger.js';
import { checkBridge, simulate } from '../dist/src/testing/index.js';

async function bridge({ model, tools, runTool, restore, files, isAlive, ...world }) {
  const { owner } = world;
  const named = { owner, nonce: owner, tag: owner, isAlive };
  const ledger = files === null ? noBridgeLedger : await openBridgeLedger(files, named);
  const executors = combineExecutors([{ tools, run: runTool, restore }]);
  await runBridge({ ...world, ledger, provider: model, executors, log: () => {} });
}

const print = (line) => process.stdout.write(`${line}\n`);

const command = (seed) => `npm run simulate -- --seed ${seed}`;

/** How often the progress is told, in milliseconds. */
const TOLD_EVERY_MS = 1_000;

async function one(seed) {
  const { violations, trace, events, executions, passedMs, digest } = await simulate({ seed, bridge });
  for (const line of trace) print(line);
  print(`seed ${seed}: ${events} events, ${executions} executions, ${passedMs} ms, ${digest}`);
  for (const { law, message, atMs } of violations) print(`broken after ${atMs} ms: ${law}: ${message}`);
  return violations.length === 0;
}

/** Seeds that a process is given at a time: few enough that all are done at about the same time. */
const SEEDS_AT_ONCE = 50;

// A process lives for some seconds. With a young generation that holds more than a few simulations, and with smaller
// functions compiled, it spends a tenth less on collecting garbage and on compiling.
const execArgv = [
  '--max-semi-space-size=64',
  '--min-semi-space-size=32',
  '--single-threaded-gc',
  '--max-inlined-bytecode-size-cumulative=450',
];

function work() {
  process.on('message', async ({ from, seeds }) => {
    try {
      await checkBridge(bridge, { from, seeds, command });
      process.send({ done: seeds });
    } catch (error) {
      process.send({ done: seeds, failed: error.message });
    }
  });
}

async function many(first, last, jobs) {
  const started = performance.now();
  const total = last - first + 1;
  let done = 0;
  let next = first;
  const failures = [];
  const rate = () => `${Math.round(done / ((performance.now() - started) / 1_000))} seeds/s`;
  const progress = setInterval(() => print(`${done}/${total} seeds, ${rate()}`), TOLD_EVERY_MS);

  // One that has found something looks no further.
  const give = (child, failed) => {
    const seeds = Math.min(SEEDS_AT_ONCE, last - next + 1);
    if (failed || seeds <= 0) {
      child.disconnect();
      return;
    }
    child.send({ from: next, seeds });
    next += seeds;
  };

  const worker = () =>
    new Promise((resolve) => {
      const child = fork(fileURLToPath(import.meta.url), ['--worker'], { execArgv });
      child.on('message', (message) => {
        done += message.done;
        if (message.failed !== undefined) failures.push(message.failed);
        give(child, message.failed !== undefined);
      });
      child.on('exit', (code) => {
        if (code !== 0) failures.push(`a process ended with ${code}`);
        resolve();
      });
      give(child, false);
    });
  await Promise.all(Array.from({ length: jobs }, worker));
  clearInterval(progress);
  for (const failure of failures) print(failure);
  print(`${done} seeds, ${failures.length} failed, ${rate()} on ${jobs} processes`);
  return failures.length === 0;
}

function misuse(message) {
  process.stderr.write(`${message}\nusage: npm run simulate -- [--seeds FIRST..LAST] [--jobs N] | --seed N\n`);
  process.exit(2);
}

const option = { type: 'string' };
const { values } = parseArgs({ options: { seeds: option, seed: option, jobs: option, worker: { type: 'boolean' } } });
const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds ?? '1..5000');
const jobs = Number(values.jobs ?? availableParallelism());
if (values.worker) work();
else if (values.seed !== undefined) process.exitCode = (await one(Number(values.seed))) ? 0 : 1;
else if (range === null) misuse(`not a range: ${values.seeds}`);
else if (!Number.isInteger(jobs) || jobs < 1) misuse(`not a number of processes: ${values.jobs}`);
else process.exitCode = (await many(Number(range[1]), Number(range[2]), jobs)) ? 0 : 1;

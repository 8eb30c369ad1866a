// Simulates refold's own bridge and engine under many seeds, in several processes, and prints the rate. Exit 1 when a seed
// breaks a law, with the law, the smallest scenario found and the command that repeats it.
//
//   npm run simulate -- [--seeds 1..5000] [--jobs 2]
//   npm run simulate -- --seed 17            one seed, with its whole trace
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ProviderError, combineExecutors, runBridge } from '../dist/bridge/index.js';
import { noBridgeLedger, openBridgeLedger } from '../dist/bridge/ledger/bridge-ledger.js';
import { ModelError, checkBridge, simulate } from '../dist/src/testing/index.js';
import { lawLabel } from '../dist/src/testing/laws/laws.js';

async function bridge({ model, tools, runTool, preview, restore, files, isAlive, ...world }) {
  const { owner } = world;
  const named = { owner, nonce: owner, tag: owner, isAlive };
  const ledger = files === null ? noBridgeLedger : await openBridgeLedger(files, named);
  const previews = preview === null ? {} : { preview };
  const executors = combineExecutors([{ tools, run: runTool, resumes: true, restore, ...previews }]);
  await runBridge({ ...world, ledger, provider: providerOf(model), executors, log: () => {} });
}

/** The model as a provider: what it says about a failure, in the words of the bridge. */
const providerOf = (model) => ({
  generate: async (request, signal, onDelta) => {
    try {
      return await model.generate(request, signal, onDelta);
    } catch (error) {
      throw error instanceof ModelError ? new ProviderError(error.code, error.message) : error;
    }
  },
});

const print = (line) => process.stdout.write(`${line}\n`);

const command = (seed) => `npm run simulate -- --seed ${seed}`;

/** How often the progress is printed, in milliseconds. */
const PROGRESS_EVERY_MS = 1_000;

async function simulateOne(seed) {
  const { violations, trace, events, executions, passedMs, digest } = await simulate({ seed, bridge });
  for (const line of trace) print(line);
  print(`seed ${seed}: ${events} events, ${executions} executions, ${passedMs} ms, ${digest}`);
  for (const { law, message, atMs } of violations) print(`${lawLabel(law)}: ${message} (after ${atMs} ms)`);
  return violations.length === 0;
}

/** Seeds that a process gets at a time: few enough that all processes finish at about the same time. */
const SEEDS_AT_ONCE = 50;

// A process lives for some seconds. A young generation that holds several simulations, and less inlining, save a tenth of
// its time for garbage collection and compilation.
const execArgv = [
  '--max-semi-space-size=64',
  '--min-semi-space-size=32',
  '--single-threaded-gc',
  '--max-inlined-bytecode-size-cumulative=450',
];

function runWorker() {
  process.on('message', async ({ from, seeds }) => {
    try {
      await checkBridge(bridge, { from, seeds, command });
      process.send({ done: seeds });
    } catch (error) {
      process.send({ done: seeds, failed: error.message });
    }
  });
}

async function simulateMany(first, last, jobs) {
  const started = performance.now();
  const total = last - first + 1;
  let done = 0;
  let next = first;
  const failures = [];
  const rate = () => `${Math.round(done / ((performance.now() - started) / 1_000))} seeds/s`;
  const progress = setInterval(() => print(`${done}/${total} seeds, ${rate()}`), PROGRESS_EVERY_MS);

  // A process that has found a violation stops.
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
        if (code !== 0) failures.push(`a process exited with code ${code}`);
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
if (values.worker) runWorker();
else if (values.seed !== undefined) process.exitCode = (await simulateOne(Number(values.seed))) ? 0 : 1;
else if (range === null) misuse(`--seeds must be a range such as 1..5000; it is ${String(values.seeds)}`);
else if (!Number.isInteger(jobs) || jobs < 1)
  misuse(`--jobs must be a number of processes; it is ${String(values.jobs)}`);
else process.exitCode = (await simulateMany(Number(range[1]), Number(range[2]), jobs)) ? 0 : 1;

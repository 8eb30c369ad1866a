// Runs the long loops at their full size. `npm test` runs a fixed-seed sample of each. Exit 1 when a test fails, 2 on misuse.
//
//   npm run soak                        lists the names, what each checks and about how long it takes
//   npm run soak -- NAME ... [--rounds N]
//   npm run soak -- ci                  the ones that CI runs after `npm test`
//   npm run soak -- all
//
// `--rounds` scales the loops: 1 is the sample, 10 (the default) the full size. `--report FILE` also writes vitest's JSON.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const SOAKS = JSON.parse(readFileSync(new URL('soak.json', import.meta.url), 'utf8'));
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FULL_SIZE = 10;
const WORKERS = 2;

const print = (line) => process.stdout.write(`${line}\n`);

function misuse(message) {
  process.stderr.write(`${message}\nusage: npm run soak -- [NAME ... | ci | all] [--rounds N] [--report FILE]\n`);
  process.exit(2);
}

function list() {
  const minutesOf = (names) => Math.ceil(names.reduce((sum, name) => sum + SOAKS[name].minutes, 0) / WORKERS);
  print('Long loops (minutes on one core at full size; * runs in CI):\n');
  for (const [name, { what, minutes, ci }] of Object.entries(SOAKS)) {
    print(`${ci ? '*' : ' '} ${name.padEnd(18)} ${String(minutes).padStart(4)} min  ${what}`);
  }
  print(`\n  ci ${minutesOf(namesOf(['ci']))} min and all ${minutesOf(namesOf(['all']))} min, on two cores`);
}

/** The names that the arguments ask for. */
function namesOf(args) {
  const all = Object.keys(SOAKS);
  return args.flatMap((name) => {
    if (name === 'all') return all;
    if (name === 'ci') return all.filter((known) => SOAKS[known].ci);
    if (!Object.hasOwn(SOAKS, name))
      misuse(`unknown name "${name}"; the names are ${[...all, 'ci', 'all'].join(', ')}`);
    return [name];
  });
}

/** Runs the files of all names: those of one configuration in one vitest, which prints each file when it has finished. */
async function run(names, rounds, report) {
  const configs = [...new Set(names.map((name) => SOAKS[name].config))];
  const reports = [];
  let failed = false;
  for (const config of configs) {
    const files = [
      ...new Set(names.filter((name) => SOAKS[name].config === config).flatMap((name) => SOAKS[name].files)),
    ];
    // The report of each run goes beside the whole one, which is the last.
    const own = report === undefined ? undefined : `${report}${configs.length === 1 ? '' : `.${reports.length}`}`;
    if ((await vitest(files, { config, rounds, report: own })) !== 0) failed = true;
    reports.push(own);
  }
  if (report !== undefined && reports.length > 1) joinReports(reports, report);
  print(`${names.join(', ')}: ${failed ? 'FAILED' : 'passed'}, at rounds ${rounds}`);
  process.exitCode = failed ? 1 : 0;
}

/** Runs one vitest; resolves with its exit code. `config`: the default one when it is undefined. */
function vitest(files, { config, rounds, report }) {
  const program = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const json = report === undefined ? [] : ['--reporter=json', `--outputFile.json=${report}`];
  const given = config === undefined ? [`--maxWorkers=${WORKERS}`] : ['--config', config];
  const child = spawn(
    process.execPath,
    [program, 'run', ...files, ...given, '--reporter=default', ...json, '--testTimeout=3600000'],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, REFOLD_TEST_ROUNDS: String(rounds) } },
  );
  return new Promise((resolve) => child.once('exit', resolve));
}

/** One report with the counts of several; a run without one has failed. */
function joinReports(paths, to) {
  const sum = { numPassedTests: 0, numFailedTests: 0, numFailedTestSuites: 0 };
  for (const path of paths) {
    const one = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { numFailedTestSuites: 1 };
    for (const key of Object.keys(sum)) sum[key] += one[key] ?? 0;
    rmSync(path, { force: true });
  }
  writeFileSync(to, JSON.stringify(sum));
}

function readArguments() {
  try {
    const text = { type: 'string' };
    return parseArgs({ allowPositionals: true, options: { rounds: text, report: text } });
  } catch (error) {
    return misuse(error.message);
  }
}

const { values, positionals } = readArguments();
const rounds = Number(values.rounds ?? FULL_SIZE);
if (!Number.isFinite(rounds) || rounds <= 0) misuse(`--rounds must be a number above 0; it is ${values.rounds}`);
if (positionals.length === 0) list();
else await run([...new Set(namesOf(positionals))], rounds, values.report);

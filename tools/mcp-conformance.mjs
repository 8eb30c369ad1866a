// Runs the conformance suite of MCP: its server scenarios against `refold serve`, each over HTTP with a session of its own and its
// tools as ours; its client scenarios against the MCP part of a bridge, which the suite starts (compat/mcp/). The suite needs Node 22
// or newer: the one that `npm run determinism` fetches is used.
//
//   npm run conformance:mcp                    every scenario
//   npm run conformance:mcp -- tools-list ping  those whose name is given
//
// A scenario that fails must stand in compat/mcp/expected-failures.json or expected-client-failures.json with the reason; one that
// stands there and passes fails the run, too. Without the registry it prints what it leaves out and exits 0; with CI set it exits 1.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installFolder } from './compat/install.mjs';
import { findRuntime } from './determinism/runtimes.mjs';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../compat/mcp', import.meta.url));
const SUITE = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const SCENARIO_MS_MAX = 60_000;

const names = process.argv.slice(2);

const node = await findRuntime('node24', false);
const { unreachable } = node.skipped === undefined ? installFolder(FOLDER) : { unreachable: node.skipped };
if (unreachable === undefined) await runAll();
else {
  process.stdout.write(`conformance:mcp: left out, because of the network: ${unreachable}\n`);
  if (process.env.CI) process.exitCode = 1;
}

async function runAll() {
  const known = new Set();
  for (const openSide of [openServerSide, openClientSide]) for (const name of await runSide(openSide)) known.add(name);
  for (const name of names.filter((one) => !known.has(one))) wrongName(name);
}

/** A side: the arguments of the suite for each of its scenarios, and which of them fail, with the reason. */
async function openServerSide() {
  const { startSuiteServer } = await import('../compat/mcp/suite-server.mjs');
  const server = await startSuiteServer();
  return {
    kind: 'server',
    failures: 'expected-failures.json',
    argsOf: async (name) => ['--url', await server.urlOf(name)],
    close: () => server.close(),
  };
}

async function openClientSide() {
  // The suite cuts the command at its spaces, and gives it to a shell.
  const client = [process.execPath, join(FOLDER, 'suite-client.mjs')].join(' ');
  return {
    kind: 'client',
    failures: 'expected-client-failures.json',
    argsOf: async () => ['--command', client],
    close: async () => undefined,
  };
}

/** Runs the scenarios of one side that are asked for, and counts them; returns the names of all that it has. */
async function runSide(openSide) {
  const counts = { passed: 0, expected: 0, wrong: 0 };
  const side = await openSide();
  const expected = JSON.parse(readFileSync(join(FOLDER, side.failures), 'utf8'));
  const all = await listed(side.kind);
  try {
    for (const name of all.filter((one) => names.length === 0 || names.includes(one))) {
      const failure = await failureOf(name, [side.kind, ...(await side.argsOf(name))]);
      const reason = expected[name];
      const kind =
        failure === null ? (reason === undefined ? 'passed' : 'stale') : reason === undefined ? 'failed' : 'expected';
      counts[kind === 'stale' || kind === 'failed' ? 'wrong' : kind] += 1;
      const why = {
        passed: '',
        stale: `: it passes; remove it from ${side.failures}`,
        failed: `: ${failure}`,
        expected: `: ${reason}`,
      };
      process.stdout.write(`${kind.padEnd(8)} ${name}${why[kind]}\n`);
    }
  } finally {
    await side.close();
  }
  for (const name of Object.keys(expected).filter((one) => !all.includes(one))) wrongName(name);
  const { passed, expected: failed, wrong } = counts;
  process.stdout.write(`${side.kind}: ${passed} passed, ${failed} failed as expected, ${wrong} failed\n`);
  if (wrong > 0) process.exitCode = 1;
  return all;
}

function wrongName(name) {
  process.exitCode = 1;
  process.stdout.write(`unknown  ${name}: the suite has no such scenario\n`);
}

async function listed(kind) {
  const { stdout } = await run(node.path, [SUITE, 'list', `--${kind}`]);
  return [...stdout.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name);
}

/** Why a scenario failed; null when it passed. A scenario without a check that passed proves nothing, and counts as failed. */
async function failureOf(name, how) {
  const results = mkdtempSync(join(tmpdir(), 'refold-mcp-suite-'));
  const args = [SUITE, ...how, '--scenario', name, '--output-dir', results];
  try {
    const { stdout, stderr } = await run(node.path, args, { timeout: SCENARIO_MS_MAX, maxBuffer: 64 * 1_048_576 });
    // The results of a client are written to standard error.
    const passed = Number(/Passed: (\d+)\//.exec(`${stdout}${stderr}`)?.[1] ?? 0);
    return passed > 0 ? null : 'no check passed';
  } catch ({ stdout = '', stderr = '', message, killed }) {
    if (killed) return `it took more than ${SCENARIO_MS_MAX} ms`;
    const faults = [...`${stdout}${stderr}`.matchAll(/errorMessage"?: "?([^"\n]+)|Error: ([^\n]+)/g)].map(
      ([, a, b]) => a ?? b,
    );
    return (faults[0] ?? message).slice(0, 300);
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

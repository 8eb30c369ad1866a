// Runs the conformance suite of MCP against `refold serve`: each server scenario over HTTP with a session of its own, and its
// tools as ours (compat/mcp/). The suite needs Node 22 or newer: the one that `npm run determinism` fetches is used.
//
//   npm run conformance:mcp                    every server scenario
//   npm run conformance:mcp -- tools-list ping  those whose name is given
//
// A scenario that fails must stand in compat/mcp/expected-failures.json with the reason; one that stands there and passes fails
// the run, too. Without the registry it prints what it leaves out and exits 0; with CI set it exits 1.
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
const expected = JSON.parse(readFileSync(join(FOLDER, 'expected-failures.json'), 'utf8'));

const node = await findRuntime('node24', false);
const { unreachable } = node.skipped === undefined ? installFolder(FOLDER) : { unreachable: node.skipped };
if (unreachable === undefined) await runAll();
else {
  process.stdout.write(`conformance:mcp: left out, because of the network: ${unreachable}\n`);
  if (process.env.CI) process.exitCode = 1;
}

async function runAll() {
  const { startSuiteServer } = await import('../compat/mcp/suite-server.mjs');
  const scenarios = (await listed()).filter((name) => names.length === 0 || names.includes(name));
  const unknown = [...names, ...Object.keys(expected)].filter((name) => !scenarios.includes(name) && !isSkipped(name));
  const server = await startSuiteServer();
  const counts = { passed: 0, expected: 0, wrong: 0 };
  try {
    for (const name of scenarios) {
      const failure = await failureOf(name, await server.urlOf(name));
      const reason = expected[name];
      const kind =
        failure === null ? (reason === undefined ? 'passed' : 'stale') : reason === undefined ? 'failed' : 'expected';
      counts[kind === 'stale' || kind === 'failed' ? 'wrong' : kind] += 1;
      const why = {
        passed: '',
        stale: `: it passes; remove it from expected-failures.json`,
        failed: `: ${failure}`,
        expected: `: ${reason}`,
      };
      process.stdout.write(`${kind.padEnd(8)} ${name}${why[kind]}\n`);
    }
  } finally {
    await server.close();
  }
  for (const name of unknown) process.stdout.write(`unknown  ${name}: the suite has no such scenario\n`);
  const { passed, expected: known, wrong } = counts;
  process.stdout.write(`${passed} passed, ${known} failed as expected, ${wrong + unknown.length} failed\n`);
  if (wrong + unknown.length > 0) process.exitCode = 1;
}

/** An expected failure that this run was not asked for. */
const isSkipped = (name) => names.length > 0 && !names.includes(name);

async function listed() {
  const { stdout } = await run(node.path, [SUITE, 'list', '--server']);
  return [...stdout.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name);
}

/** Why a scenario failed; null when it passed. A scenario without a check that passed proves nothing, and counts as failed. */
async function failureOf(name, url) {
  const results = mkdtempSync(join(tmpdir(), 'refold-mcp-suite-'));
  const args = [SUITE, 'server', '--url', url, '--scenario', name, '--output-dir', results];
  try {
    const { stdout } = await run(node.path, args, { timeout: SCENARIO_MS_MAX, maxBuffer: 64 * 1_048_576 });
    const passed = Number(/Passed: (\d+)\//.exec(stdout)?.[1] ?? 0);
    return passed > 0 ? null : 'no check passed';
  } catch ({ stdout = '', message, killed }) {
    if (killed) return `it took more than ${SCENARIO_MS_MAX} ms`;
    const faults = [...stdout.matchAll(/errorMessage"?: "?([^"\n]+)|Error: ([^\n]+)/g)].map(([, a, b]) => a ?? b);
    return (faults[0] ?? message).slice(0, 300);
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

// Checks that every runtime gives the same bytes (docs/design.md, law 1): folds every recorded session on every available
// runtime, with both implementations of SHA-256, in three time zones and locales, and in a poisoned realm, and compares the
// digests with the record and with each other. Exit 1 when one differs, 2 on misuse or when nothing was folded.
//
//   npm run determinism -- [--all] [--offline] [--json] [--spread] [--only current,node24,newest,bun,browser]
//     [--fixtures FOLDER]
//
// A runtime that is not there and cannot be fetched is skipped, with the reason; with --all that is a failure (exit 2). With
// --spread each environment uses one of the implementations of SHA-256, alternately, instead of both.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readSessions, writeBundles, writePages } from './determinism/bundle.mjs';
import { findDifference } from './determinism/compare.mjs';
import { foldOn } from './determinism/fold-on.mjs';
import { RUNTIMES, findRuntime } from './determinism/runtimes.mjs';

const ENVIRONMENTS = [
  { timeZone: 'UTC', locale: 'C', poisoned: false },
  { timeZone: 'Asia/Kathmandu', locale: 'tr_TR.UTF-8', poisoned: false },
  { timeZone: 'America/St_Johns', locale: 'sv_SE.UTF-8', poisoned: false },
  { timeZone: 'UTC', locale: 'C', poisoned: true },
];

async function main({ all, offline, json, only, fixtures, spread }) {
  const sessions = readSessions(fixtures);
  if (sessions.length === 0) throw new Error(`no recorded session in ${fixtures}`);
  const folder = mkdtempSync(join(tmpdir(), 'refold-determinism-'));
  const report = { sessions: sessions.length, events: 0, rows: [], skipped: [] };
  const printUnlessJson = json ? () => {} : print;
  try {
    await writeBundles(folder, sessions);
    let first;
    for (const name of only) {
      const runtime = await findRuntime(name, offline);
      if (runtime.skipped !== undefined) {
        report.skipped.push({ runtime: name, why: runtime.skipped });
        printUnlessJson(`${name.padEnd(24)} skipped: ${runtime.skipped}`);
        continue;
      }
      if (runtime.kind === 'browser') await writePages(folder, sessions);
      for await (const [row, answer] of foldRows(rowsOf(runtime, spread), runtime, folder)) {
        if (answer.error === undefined) first ??= answer;
        report.rows.push(summary(runtime, row, answer, findDifference(answer, first)));
        printUnlessJson(lineOf(report.rows.at(-1)));
      }
    }
    // The first of the bytes are those of the genesis record.
    report.events = first?.sessions.reduce((sum, { bytes }) => sum + bytes.length - 1, 0) ?? 0;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
  if (report.rows.length === 0 && !json) throw new Error('nothing was folded: every runtime was skipped');
  finish(report, { all, json });
}

/** Folds in every environment of a runtime, some at a time; yields the answers in the order of the rows. */
async function* foldRows(rows, runtime, folder) {
  const atATime = availableParallelism();
  for (let start = 0; start < rows.length; start += atATime) {
    const some = rows.slice(start, start + atATime);
    const answers = await Promise.all(some.map((row) => foldOn(runtime, row, folder)));
    yield* some.map((row, index) => [row, answers[index]]);
  }
}

function rowsOf({ kind }, spread) {
  const variants = kind === 'browser' ? ['noble'] : ['node', 'noble'];
  const rows = variants.flatMap((variant) => ENVIRONMENTS.map((environment) => ({ variant, ...environment })));
  // Every environment once: two with the one implementation, two with the other.
  return spread && variants.length > 1
    ? rows.filter((_, index) => index % 2 === (index < ENVIRONMENTS.length ? 0 : 1))
    : rows;
}

function summary(runtime, row, answer, difference) {
  const { state = null, chain = null, rolling = null, timeZone = null, locale = null } = answer;
  const label = `${runtime.kind} ${runtime.version}`;
  return { runtime: label, ...row, seen: { timeZone, locale }, state, chain, rolling, difference };
}

function lineOf({ runtime, variant, timeZone, locale, poisoned, seen, state, chain, rolling, difference }) {
  const place = `${timeZone} ${locale}${poisoned ? ' poisoned' : ''}`;
  const saw = seen.locale === null ? '' : `saw ${seen.timeZone} ${seen.locale}`;
  const head = `${runtime.padEnd(24)} ${variant.padEnd(6)} ${place.padEnd(29)} ${saw.padEnd(27)}`;
  if (difference !== null) return `${head} DIFFERS: ${difference}`;
  const short = (digest) => digest.slice('sha256:'.length, 'sha256:'.length + 12);
  return `${head} state ${short(state)} chain ${short(chain)} bytes ${short(rolling)}`;
}

function finish(report, { all, json }) {
  const differing = report.rows.filter(({ difference }) => difference !== null);
  const same = report.rows.length > 0 && differing.length === 0;
  const missing = report.skipped.map(({ runtime }) => runtime).join(', ');
  if (json) print(JSON.stringify({ same, ...report }));
  else {
    const runtimes = new Set(report.rows.map(({ runtime }) => runtime)).size;
    const of = `runtimes ${runtimes}, sessions ${report.sessions}, events ${report.events}, runs ${report.rows.length}`;
    print(same ? `the same bytes everywhere: ${of}` : `${differing.length} of ${report.rows.length} runs differ`);
    if (missing !== '') print(`not checked: ${missing}`);
  }
  process.exitCode = same ? 0 : 1;
  if (all && missing !== '') throw new Error(`--all: ${missing} could not be checked; see the reasons above`);
}

const print = (line) => process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      all: { type: 'boolean', default: false },
      offline: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      spread: { type: 'boolean', default: false },
      only: { type: 'string', default: Object.keys(RUNTIMES).join(',') },
      fixtures: { type: 'string', default: fileURLToPath(new URL('../replay-fixtures/', import.meta.url)) },
    },
  });
  const only = values.only.split(',');
  const unknown = only.find((name) => !Object.hasOwn(RUNTIMES, name));
  if (unknown !== undefined) throw new Error(`there is no runtime "${unknown}": ${Object.keys(RUNTIMES).join(', ')}`);
  return { ...values, only };
}

try {
  await main(readOptions());
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

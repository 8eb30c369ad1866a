// Folds on one runtime in a separate process, with only the environment variables of this row.
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));
const FOLD_MS_MAX = 120_000;
const ANSWER_BYTES_MAX = 64 * 1_048_576;

/** The answer of `run` in the bundle, or `{ error }`. */
export async function foldOn(runtime, row, folder) {
  const env = { PATH: process.env.PATH, HOME: folder, TZ: row.timeZone, LC_ALL: row.locale, LANG: row.locale };
  const options = { env, timeout: FOLD_MS_MAX, maxBuffer: ANSWER_BYTES_MAX };
  try {
    return runtime.kind === 'browser'
      ? await foldInBrowser(runtime.path, row, folder, options)
      : await foldInProcess(runtime.path, row, folder, options);
  } catch (error) {
    return { error: String(error.stderr || error.message).trim() };
  }
}

async function foldInProcess(path, { variant, poisoned }, folder, options) {
  const world = poisoned ? 'poisoned' : 'plain';
  const args = [CHILD, join(folder, `${variant}.mjs`), join(folder, 'sessions.json'), world];
  const { stdout } = await run(path, args, options);
  return JSON.parse(stdout);
}

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
const MORE_FLAGS = ['--disable-background-networking', '--disable-component-update', '--dump-dom'];

async function foldInBrowser(path, { poisoned, locale }, folder, options) {
  const page = pathToFileURL(join(folder, poisoned ? 'poisoned.html' : 'plain.html')).href;
  const home = `--user-data-dir=${mkdtempSync(join(folder, 'browser-'))}`;
  const language = `--lang=${locale.split('.')[0].replace('_', '-')}`;
  const { stdout } = await run(path, [...FLAGS, ...MORE_FLAGS, home, language, page], options);
  const answer = /<title>folded:([^<]*)<\/title>/.exec(stdout)?.[1];
  if (answer === undefined) return { error: 'the page did not write its answer into its title' };
  return JSON.parse(decodeURIComponent(answer));
}

// Checks the decoders, encoders and schemas of all model APIs against recorded traffic, which is not part of the repository.
// Exit 1 when a record fails, with its file and line; 2 on misuse.
//
//   npm run conformance                            the corpora in ../shared/corpora beside the project; skips without them
//   npm run conformance -- --corpora FOLDER        another folder of the same layout
//   npm run conformance -- --only NAME[,NAME]      some sections, e.g. provider-recordings
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => join(ROOT, path);

const print = (line) => process.stdout.write(`${line}\n`);

function misuse(message) {
  process.stderr.write(`${message}\nusage: npm run conformance -- [--corpora FOLDER] [--only NAME,...]\n`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({ options: { corpora: { type: 'string' }, only: { type: 'string', default: '' } } }).values;
  } catch (error) {
    return misuse(error.message);
  }
}

/** On a terminal, what is being checked is written over itself; elsewhere each is a line. */
function show(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}

/** The checks are TypeScript and use the sources, so they are bundled first; packages stay where they are. */
async function load(folder) {
  const outfile = join(folder, 'conformance.mjs');
  await build({
    entryPoints: [at('test/conformance/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: { '#sha256': at('schemas/sha256/node.ts'), '#client-platform': at('src/client/platform/node.ts') },
    logLevel: 'warning',
  });
  return await import(pathToFileURL(outfile).href);
}

const { corpora, only } = readArguments();
const folder = resolve(corpora ?? at('../shared/corpora'));
if (!existsSync(folder)) {
  if (corpora !== undefined) misuse(`there is no folder ${folder}`);
  print(`skipped: there are no corpora at ${folder}; name their folder with --corpora`);
  process.exit(0);
}
const bundle = mkdtempSync(at('node_modules/.conformance-'));
try {
  const { conform } = await load(bundle);
  const names = only.split(',').filter((name) => name !== '');
  process.exitCode = (await conform(folder, names, print, show)) ? 0 : 1;
} catch (error) {
  if (error instanceof RangeError) misuse(error.message);
  throw error;
} finally {
  rmSync(bundle, { recursive: true, force: true });
}

// Bundles the pure core from its sources, once with each implementation of SHA-256, and once as a web page.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The sessions in a folder of fixtures, by name: `{ name, lines }`. */
export function readSessions(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted()
    .map((name) => ({
      name,
      lines: readFileSync(join(folder, name, 'session.jsonl'), 'utf8')
        .trimEnd()
        .split('\n'),
    }));
}

/**
 * Writes `node.mjs`, `noble.mjs` and `sessions.json` into a folder. The first is built as production and the other as
 * development code, so that the development checks of libraries are compared as well.
 */
export async function writeBundles(folder, sessions) {
  const common = { entryPoints: [at('./entry.mjs')], bundle: true, format: 'esm', logLevel: 'error' };
  await build({
    ...common,
    ...variant('node', 'production'),
    platform: 'node',
    outfile: join(folder, 'node.mjs'),
  });
  await build({
    ...common,
    ...variant('noble', 'development'),
    platform: 'browser',
    outfile: join(folder, 'noble.mjs'),
  });
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify(sessions));
}

/** Writes the two pages for a browser, of development code, into a folder. */
export async function writePages(folder, sessions) {
  const page = await bundlePage();
  for (const poisoned of [false, true]) {
    writeFileSync(join(folder, poisoned ? 'poisoned.html' : 'plain.html'), pageOf(page, { sessions, poisoned }));
  }
}

async function bundlePage() {
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir: at('.'), loader: 'js' },
    ...variant('noble', 'development'),
    bundle: true,
    format: 'iife',
    platform: 'browser',
    charset: 'ascii',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].text;
}

/** A page that folds its input and writes the answer into its title. The script must not contain the end tag of a script. */
function pageOf(code, input) {
  const data = `const input = ${JSON.stringify(input).replaceAll('<', String.raw`\u003c`)};`;
  const safe = code.replaceAll('</script', String.raw`<\/script`);
  return `<!doctype html><meta charset="utf-8"><title></title><script>${data}\n${safe}</script>\n`;
}

const PAGE = `import { run } from './entry.mjs';
document.title = 'folded:' + encodeURIComponent(JSON.stringify(run(input.sessions, input.poisoned)));`;

const variant = (name, mode) => ({
  alias: { '#sha256': at(`../../schemas/sha256/${name}.ts`) },
  define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
});

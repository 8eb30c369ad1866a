// Bundles the page of inspector/ into dist/inspector: page.js, worker.js, styles.css, index.html, and licenses.txt with the
// licenses of the packages in them. It is part of `npm run build`.
//
//   node tools/build-inspector.mjs            builds it
//   node tools/build-inspector.mjs --sizes    and prints the sizes with and without gzip
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => join(root, path);
const OUT = at('dist/inspector');

/** What is built of what; an entry whose source is not there yet is left out. */
const ENTRIES = {
  page: 'inspector/page/main.tsx',
  worker: 'inspector/worker.ts',
  styles: 'inspector/styles.css',
};

const entryPoints = Object.fromEntries(
  Object.entries(ENTRIES).flatMap(([name, path]) => (existsSync(at(path)) ? [[name, at(path)]] : [])),
);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints,
  outdir: OUT,
  bundle: true,
  minify: true,
  platform: 'browser',
  conditions: ['browser'],
  target: ['es2023'],
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  alias: {
    '#sha256': at('schemas/sha256/noble.ts'),
    '#client-platform': at('src/client/platform/web.ts'),
    // The same modules in the form that a bundler can leave parts out of; Node cannot import them.
    'fp-ts/lib': 'fp-ts/es6',
  },
  define: { 'process.env.NODE_ENV': '"production"' },
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
});

writeFileSync(join(OUT, 'index.html'), readFileSync(at('inspector/index.html')));
writeFileSync(join(OUT, 'licenses.txt'), licensesOf(Object.keys(metafile.inputs)));

if (process.argv.includes('--sizes')) printSizes();

function printSizes() {
  let total = 0;
  for (const name of readdirSync(OUT).filter((file) => file !== 'licenses.txt')) {
    const bytes = readFileSync(join(OUT, name));
    const gzipped = gzipSync(bytes, { level: 9 }).length;
    total += gzipped;
    process.stdout.write(`dist/inspector/${name}  ${bytes.length} bytes, ${gzipped} gzipped\n`);
  }
  process.stdout.write(`dist/inspector  ${total} bytes gzipped\n`);
}

/** The licenses of the packages that the bundles hold. */
function licensesOf(inputs) {
  const folders = new Set(
    inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  return [...folders]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(at(`${folder}/package.json`), 'utf8'));
      const file = readdirSync(at(folder)).find((entry) => /^licen[cs]e(?:\.|$)/i.test(entry));
      const text = file === undefined ? '' : readFileSync(at(`${folder}/${file}`), 'utf8').trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join('\n\n');
}

// Bundles the programs that users and refold itself start, so that node reads a few files instead of hundreds: a bridge
// starts in a third of the time. It is part of `npm run build`, after tsc. The bundles lie in dist/programs; the file that
// tsc made of a program becomes an import of its bundle, so a program is started by the path it always had. Packages stay
// outside, as dependencies; the library modules stay as tsc wrote them.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => join(root, path);
const OUT = at('dist/programs');

/** The entry of each program. */
const PROGRAMS = {
  refold: 'src/cli/main',
  bridge: 'bridge/process/main',
  request: 'bridge/process/request',
  'mcp-login': 'bridge/process/mcp-login',
  bench: 'bench/main',
  'bench-answer': 'bench/answer-process',
  'bench-bridge': 'bench/bridge-process',
  'bench-memory': 'bench/memory-process',
  'bench-replay': 'bench/replay-process',
};

/** A module finds files beside itself by `import.meta.url`, which in a bundle would name the bundle. */
const ownPlaces = {
  name: 'own-places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const built = at(`dist/${relative(root, path).replace(/\.ts$/, '.js')}`);
      const url = `new URL(${JSON.stringify(relative(OUT, built))}, import.meta.url).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url), loader: 'ts' };
    });
  },
};

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: Object.fromEntries(Object.entries(PROGRAMS).map(([name, path]) => [name, at(`${path}.ts`)])),
  outdir: OUT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: ['node20.19'],
  packages: 'external',
  alias: { '#sha256': at('schemas/sha256/node.ts'), '#client-platform': at('src/client/platform/node.ts') },
  plugins: [ownPlaces],
  logLevel: 'warning',
  metafile: true,
});

// Only now, so that a program can be started while it is built again.
const made = new Set(Object.keys(metafile.outputs).map((path) => basename(path)));
for (const name of readdirSync(OUT)) if (!made.has(name)) rmSync(join(OUT, name));

for (const [name, path] of Object.entries(PROGRAMS)) {
  const file = at(`dist/${path}.js`);
  rmSync(`${file}.map`, { force: true });
  writeFileSync(file, `#!/usr/bin/env node\nimport '${relative(dirname(file), join(OUT, `${name}.js`))}';\n`);
}

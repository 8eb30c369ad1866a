import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ROOT = at('./');
const DIST = at('./dist/');
const SOURCE = /^(?:bench|bridge|embed|reducers|schemas|src)\/.*\.ts$/;

/**
 * `npm test` has just built dist/, so its tests import the built modules: transforming their sources again took a tenth of
 * its time. A single file that is run by `npx vitest run FILE` reads the sources, which need no build.
 */
const builtModules: Plugin = {
  name: 'built-modules',
  enforce: 'pre',
  resolveId(id, importer) {
    const path = importer !== undefined && id.startsWith('.') ? resolve(dirname(importer), id) : id;
    const source = path.startsWith(ROOT) ? path.slice(ROOT.length) : '';
    return SOURCE.test(source) ? `${DIST}${source.slice(0, -'.ts'.length)}.js` : undefined;
  },
};
const isBuilt = process.env['REFOLD_TEST_BUILT'] === '1';

// Tests that replace modules get a module graph each.
const ISOLATED = [
  'test/simulation/zoo.test.ts',
  'test/blobs/power-cut.test.ts',
  'test/bridge/host/preview-between.test.ts',
  'test/core/upcast.test.ts',
  'test/cli/verify-deleted.test.ts',
  'test/cli/verify-laws.test.ts',
  'test/files/directories.test.ts',
  'test/rules/second-rules.test.ts',
];

// They need a browser: `npm run test:page`.
const IN_BROWSERS = 'test/page/**';

export default defineConfig({
  resolve: {
    alias: {
      '#sha256': at('./schemas/sha256/node.ts'),
      '#client-platform': at('./src/client/platform/node.ts'),
    },
  },
  test: {
    // Commands that run in the process of a test print without colours, as a command whose output is a pipe does.
    env: { NO_COLOR: '1' },
    setupFiles: [at('./test/support/byte-equality.ts')],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    maxWorkers: 2,
    // Most objects of a test die before so much room is full: collections took a twentieth of the CPU time of the tests.
    execArgv: ['--max-semi-space-size=64'],
    // Node loads built modules itself, so there is one of each, whoever imports it.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    projects: [
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      // All others share one module graph for each worker: loading it for each file took a third of their time.
      {
        extends: true,
        plugins: isBuilt ? [builtModules] : [],
        test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: [...ISOLATED, IN_BROWSERS], isolate: false },
      },
    ],
  },
});

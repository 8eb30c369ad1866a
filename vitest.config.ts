import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Tests that replace modules or simulate whole worlds get a module graph each.
const ISOLATED = [
  'test/simulation/**/*.test.ts',
  'test/blobs/power-cut.test.ts',
  'test/core/upcast.test.ts',
  'test/cli/verify-laws.test.ts',
  'test/files/directories.test.ts',
  'test/rules/second-rules.test.ts',
];

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
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      // All others share one module graph for each worker: loading it for each file took a third of their time.
      { extends: true, test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: ISOLATED, isolate: false } },
    ],
  },
});

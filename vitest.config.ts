import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const PURE = ['test/reducers/**/*.test.ts', 'test/schemas/**/*.test.ts'];

export default defineConfig({
  resolve: { alias: { '#sha256': at('./schemas/sha256-node.ts') } },
  test: {
    // Commands that run in the process of a test print without colours, as a command whose output is a pipe does.
    env: { NO_COLOR: '1' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    maxWorkers: 2,
    projects: [
      // Tests of pure functions share one module graph: loading it for each file took a third of their time.
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
      { extends: true, test: { name: 'rest', include: ['test/**/*.test.ts'], exclude: PURE } },
    ],
  },
});

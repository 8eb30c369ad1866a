import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: { alias: { '#sha256': at('./schemas/sha256-node.ts') } },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: [],
    // Commands that run in the process of a test print without colours, as a command whose output is a pipe does.
    env: { NO_COLOR: '1' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
    maxWorkers: 2,
  },
});

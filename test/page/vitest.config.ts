// The tests of the page, which need a built dist/inspector and a Chromium: npm run test:page
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export default defineConfig({
  root: at('.'),
  resolve: {
    alias: { '#sha256': at('schemas/sha256/node.ts'), '#client-platform': at('src/client/platform/node.ts') },
  },
  test: {
    env: { NO_COLOR: '1' },
    include: ['test/page/*.test.ts'],
    globalSetup: ['test/support/page/require-chromium.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // One browser at a time: figures are measured too.
    maxWorkers: 1,
    fileParallelism: false,
  },
});

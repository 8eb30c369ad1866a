import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// The tests of the AI SDK 6 once more, with 7 in its place; `tools/compat.mjs` runs them on a Node that 7 declares.
export default defineConfig({
  resolve: { alias: { ai: at('node_modules/ai') } },
  test: {
    root: at('..'),
    env: { NO_COLOR: '1', REFOLD_COMPAT_AI: 'v4' },
    include: ['ai-sdk/loop.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 2,
  },
});

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    env: { NO_COLOR: '1' },
    include: ['**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 2,
  },
});

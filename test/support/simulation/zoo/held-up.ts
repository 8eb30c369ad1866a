// Scenarios of a bridge that is held up at the worst moment. Few seeds show it, so that they are kept without all that does
// not matter.
import type { Scenario } from '../../../../src/testing/index.ts';

/** Two bridges, and nothing that goes wrong. */
const QUIET = { seed: 7, bridges: 2, files: false, snapshots: false, messages: [], disk: [] } as const;

// A process is held up between the record that it starts a call and the call itself, for longer than its lease lasts; what
// waits for the call has begun elsewhere when it comes to itself.
export const HELD_UP: Scenario = {
  ...QUIET,
  sessions: [
    {
      turns: [
        [
          { tool: 'put', path: 'c', ms: 645, does: 'succeed' },
          { tool: 'free', path: 'a/x', ms: 37, does: 'large' },
          { tool: 'solo', path: 'b', ms: 2_975, does: 'throw' },
        ],
      ],
      acts: [],
      concurrency: 1,
      calls: 64,
    },
  ],
  processes: [{ atMs: 467, what: 'stall_bridge', bridge: 1, ms: 4_091 }],
};

// Likewise between the bytes it has fetched for an undo and their putting back: somebody else has undone the call when it
// comes to itself.
export const UNDO_HELD_UP: Scenario = {
  ...QUIET,
  sessions: [
    {
      turns: [
        [{ tool: 'put', path: 'a', ms: 10, does: 'succeed' }],
        [{ tool: 'put', path: 'a', ms: 20, does: 'succeed' }],
      ],
      acts: [
        { atMs: 1_000, what: 'undo' },
        { atMs: 7_000, what: 'run' },
      ],
      concurrency: 1,
      calls: 64,
    },
  ],
  messages: [{ nth: 15, what: 'delay_answer', ms: 400 }],
  processes: [{ atMs: 1_200, what: 'stall_bridge', bridge: 1, ms: 5_000 }],
};

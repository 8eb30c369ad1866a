// Scenarios in which a bridge stalls after a check and before the action. Few seeds show this, so shrunk ones are kept here.
import type { Scenario } from '../../../../src/testing/index.ts';

/** Two bridges without faults. */
const QUIET = { seed: 7, bridges: 2, files: false, snapshots: false, messages: [], disk: [] } as const;

// A bridge is stalled between the record of a start and the run of the call, for longer than its lease lasts. When it continues,
// a call that waits for this one has started on the other bridge.
export const STALLED: Scenario = {
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
  processes: [{ atMs: 656, what: 'stall_bridge', bridge: 1, ms: 4_091 }],
};

// A bridge is stalled between reading the bytes for an undo and restoring them. When it continues, the other bridge has
// undone the call.
export const UNDO_STALLED: Scenario = {
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
  messages: [{ nth: 17, what: 'delay_answer', ms: 400 }],
  processes: [{ atMs: 1_012, what: 'stall_bridge', bridge: 1, ms: 5_000 }],
};

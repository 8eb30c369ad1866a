// What a journal keeps of a session beside its stream. From state alone.
import { nextDeadline } from '../../reducers/deadlines.ts';
import type { HeadFacts, SessionCard } from '../../schemas/session-head.ts';
import type { SessionState } from '../../schemas/state.ts';
import { owesBridge } from './owing.ts';
import { statusOf } from './status.ts';

export const headFacts = (state: SessionState): HeadFacts => ({
  owing: owesBridge(state),
  wake_at_ms: nextDeadline(state),
  card: cardOf(state),
});

/** The facts of a copy that is not stored completely: nothing of it is owed to anybody. */
export const CUT_OFF: HeadFacts = {
  owing: false,
  wake_at_ms: null,
  card: { title: null, status: 'idle', parent: null, last_activity_ms: 0, outcome: null },
};

const cardOf = (state: SessionState): SessionCard => ({
  title: state.title ?? null,
  status: statusOf(state),
  parent: state.parent ?? null,
  last_activity_ms: state.updated_at_ms,
  outcome: state.run_history.at(-1)?.ending.outcome ?? null,
});

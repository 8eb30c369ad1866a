// What a journal keeps of a session beside its stream. From state alone.
import { nextDeadline } from '../../reducers/deadlines.ts';
import type { HeadFacts, SessionCard } from '../../schemas/session-head.ts';
import type { SessionState } from '../../schemas/state.ts';
import { owesBridge } from './owed/owing.ts';
import { statusOf } from './status.ts';

export const headFacts = (state: SessionState): HeadFacts => ({
  owing: owesBridge(state),
  wake_at_ms: nextDeadline(state),
  card: cardOf(state),
});

const cardOf = (state: SessionState): SessionCard => ({
  title: state.title ?? null,
  status: statusOf(state),
  parent: state.parent ?? null,
  last_activity_ms: state.updated_at_ms,
  outcome: state.run_history.at(-1)?.ending.outcome ?? null,
});

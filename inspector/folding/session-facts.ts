// A session after its last folded event: what `refold show` tells.
import { type ReplayStart, effects, personEffects, sessionStatus, stateDigest } from '../../src/core/index.ts';
import { describeProfile } from '../../src/core/explain-tools.ts';
import { nameOf } from '../people/waiting.ts';
import type { OpenedSource, SessionFacts, SessionNow, Verdicts } from '../protocol.ts';
import type { StreamFold } from './stream-fold.ts';

export function factsOf(fold: StreamFold, opened: OpenedSource, verdicts: Verdicts): SessionFacts {
  const genesis = fold.genesis();
  const now = fold.now();
  return {
    ...opened,
    genesis:
      genesis === null
        ? null
        : {
            created_at_ms: genesis.created_at_ms,
            rules: genesis.rules,
            tool_package_digest: genesis.tool_package_digest,
            forked_from: genesis.forked_from ?? null,
          },
    now: now === null ? null : nowOf(now, fold.turns.length),
    verdicts,
  };
}

function nowOf({ state, chain }: ReplayStart, turns: number): SessionNow {
  const { run, tool_runtime_context: host } = state;
  return {
    at: state.version,
    at_ms: state.updated_at_ms,
    title: state.title ?? null,
    status: sessionStatus(state).status,
    rules: state.rules,
    state_digest: stateDigest(state),
    chain,
    run:
      run === null
        ? null
        : { run_id: run.run_id, phase: run.phase, turn: run.turn, calls: run.calls, usage: run.usage },
    run_history: state.run_history.map(({ ending: { outcome, code, message }, ...ended }) => ({
      run_id: ended.run_id,
      turn: ended.turn,
      calls: ended.calls,
      usage: ended.usage,
      started_at_ms: ended.started_at_ms,
      ended_at_ms: ended.ended_at_ms,
      ending: { outcome, code, message },
    })),
    profile: describeProfile(state),
    consent: state.consent,
    host: { status: host.host_session_status, sandbox: host.sandbox, workspace: host.workspace },
    owed: effects(state).map(({ kind, effect_id }) => ({ kind, effect_id })),
    waits: personEffects(state).map((action) => nameOf(action)),
    turns,
    last_plan_hash: state.last_tool_plan_hash,
  };
}

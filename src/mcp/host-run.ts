// The run in which a host makes its calls: external, so that no model is asked, and as long as a run can be.
import type { SessionState } from '../../schemas/state.ts';
import type { RunId } from '../../schemas/ids.ts';
import { CALLS_MAX, REPEATS_MAX, TOOLS_MAX, TURNS_MAX } from '../../schemas/limits.ts';
import { EXTERNAL_PROVIDER, type RunConfigPatch, isExternal } from '../../schemas/run.ts';

/** What a session of a host is created with. A host repeats calls as it likes: its model is not guarded here. */
export const HOST_CONFIG: RunConfigPatch = {
  provider: EXTERNAL_PROVIDER,
  model: 'mcp-host',
  turns_max: TURNS_MAX,
  calls_max: CALLS_MAX,
  repeats_max: REPEATS_MAX,
  tokens_max: null,
  // The host lists the tools, and may call each that it was shown.
  offer_max: TOOLS_MAX,
  wall_ms_max: null,
  completion: 'continue',
};

/** Whether and where a host may make calls now. */
export type HostTurn =
  /** A run must be requested first. */
  | { readonly kind: 'none' }
  | { readonly kind: 'ready'; readonly run_id: RunId; readonly turn: number }
  /** The run is opening its host session, or a batch is open. */
  | { readonly kind: 'busy' }
  /** Nothing changes before somebody else does something; `why` says what. */
  | { readonly kind: 'blocked'; readonly why: string };

export function hostTurn({ session_id, run, active_tool_batch }: SessionState): HostTurn {
  if (run === null) return { kind: 'none' };
  if (!isExternal(run)) {
    const why = `the session ${session_id} has a run of the model ${run.config.model}. Wait until it ends, or end it: refold interrupt ${session_id}`;
    return { kind: 'blocked', why };
  }
  if (run.phase.startsWith('paused_')) {
    return { kind: 'blocked', why: `the session ${session_id} is paused. To go on: refold resume ${session_id}` };
  }
  if (run.phase === 'generating' && active_tool_batch === null) {
    return { kind: 'ready', run_id: run.run_id, turn: run.turn };
  }
  return { kind: 'busy' };
}

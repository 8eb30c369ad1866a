// Why each registered tool is in the effective set or out of it (DESIGN section 4, step 5).
import type { SessionState } from '../../schemas/state.ts';
import type { ToolVerdict } from '../../schemas/tool-set.ts';

/** One row per registered tool, by tool id, with its reason codes. */
export const explain = (state: Pick<SessionState, 'effective_tools'>): readonly ToolVerdict[] =>
  state.effective_tools.verdicts;

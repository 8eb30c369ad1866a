// Every registered tool at a position: in or out, why, since when, and what the policy says of it; beside another position.
import { decideConsent } from '../../reducers/consent.ts';
import type { SessionState } from '../../schemas/state.ts';
import { describeProfile } from '../../src/core/explain-tools.ts';
import type { ShownTool, ToolRow, ToolsAnswer } from '../protocol.ts';
import type { StreamFold } from './stream-fold.ts';

export async function toolsAt(
  fold: StreamFold,
  { at, against }: { readonly at: number; readonly against?: number },
): Promise<ToolsAnswer> {
  const state = await fold.stateAt(at);
  const other = against === undefined ? null : await fold.stateAt(against);
  const [shown, beside] = [shownTools(fold, state), other === null ? null : shownTools(fold, other)];
  const ids = [...new Set([...shown.keys(), ...(beside?.keys() ?? [])])].sort();
  return {
    at,
    against: against ?? null,
    profile: describeProfile(state),
    profile_against: other === null ? null : describeProfile(other),
    tools: ids.map((id): ToolRow => {
      const [tool, old] = [shown.get(id) ?? null, beside?.get(id) ?? null];
      return { tool, against: old, changed: beside !== null && textOf(tool) !== textOf(old) };
    }),
  };
}

function shownTools(fold: StreamFold, state: SessionState): ReadonlyMap<string, ShownTool> {
  const rows = fold.tools.explain(state).flatMap((row): readonly (readonly [string, ShownTool])[] => {
    const spec = state.tool_registry[row.tool_id];
    if (spec === undefined) return [];
    const { tool_ref, description, mode, ownership, executor, effects } = spec;
    const { decision, reasons } = decideConsent(state.consent, spec, null);
    const shown = { tool_ref, description, mode, ownership, executor: executor.kind, effects };
    return [[row.tool_id, { ...row, ...shown, consent: { decision, reasons } }]];
  });
  return new Map(rows);
}

/** What differs when a tool has changed; not since when. */
const textOf = (tool: ShownTool | null): string => JSON.stringify(tool === null ? null : { ...tool, since: null });

// Law 23, worked out from the events alone: of a toolset, only tools whose present definition was approved are effective. And
// law 6, of the effective tools: none is disabled.
import type { EventOfKind } from '../../../schemas/event.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { definitionDigest, toolsetNamedBy } from '../../../schemas/toolset.ts';
import type { Judge } from './judge.ts';
import type { FoldedEvent, StoredSession } from './stored-session.ts';

/** A toolset of the session has the tool, with a definition that was not approved. */
export function isQuarantined({ toolsets }: StoredSession, id: string): boolean {
  const { present, approved } = toolsets.get(toolsetNamedBy(id) ?? '') ?? {};
  const digest = present?.get(id);
  return digest !== undefined && approved?.get(id) !== digest;
}

/** Notes what an event says of toolsets, and checks what is effective and offered after it. */
export function checkToolsets(stored: StoredSession, { before, event, state }: FoldedEvent, judge: Judge): void {
  if (event.kind === 'ToolsetSet') noteSet(stored, event);
  else if (event.kind === 'ToolsetApproved') noteApproved(stored, event);
  else if (event.kind === 'ToolsetRemoved') stored.toolsets.delete(event.toolset);
  const { session, run } = state.tool_overrides;
  const disabled = new Set([...session.disable, ...run.disable]);
  const effective = new Set<string>();
  for (const { tool_id } of state.effective_tools.ordered_tools) {
    effective.add(tool_id);
    const effect = (): string => `${tool_id} is effective after ${event.event_id}`;
    judge.check(!disabled.has(tool_id), 'deny wins', () => `${effect()}, but disabled`);
    judge.check(!isQuarantined(stored, tool_id), 'unapproved tools are out', effect);
  }
  const offer = state.run?.offer ?? null;
  if (offer === null || offer === before.run?.offer) return;
  for (const { tool_id } of offer.ordered_tools) {
    const is = effective.has(tool_id);
    judge.check(is, 'unapproved tools are out', () => `${tool_id} is offered, but not effective`);
  }
}

function noteSet({ toolsets }: StoredSession, { toolset, tools, trust }: EventOfKind<'ToolsetSet'>): void {
  const present = new Map(tools.map(({ definition, spec }) => [spec.tool_id as string, definitionDigest(definition)]));
  const known = toolsets.get(toolset)?.approved ?? new Map<string, Digest>();
  toolsets.set(toolset, { present, approved: trust === 'first' && known.size === 0 ? present : known });
}

function noteApproved({ toolsets }: StoredSession, { toolset, tools }: EventOfKind<'ToolsetApproved'>): void {
  const known = toolsets.get(toolset);
  if (known === undefined) return;
  toolsets.set(toolset, { ...known, approved: new Map([...known.approved, ...Object.entries(tools)]) });
}

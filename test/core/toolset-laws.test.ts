// Law 23 on random streams, against a dumb reference that reads the events alone, in the words of the design: tools of a toolset
// are candidates in every profile unless disabled, and out until their very definition is approved.
import { describe, expect, test } from 'vitest';
import type { IngressEvent, SessionState } from '../../schemas/index.ts';
import { definitionDigest } from '../../schemas/index.ts';
import { roundsOf } from '../support/random.ts';
import { walk } from '../support/streams.ts';

/** A tool of a toolset as its source described it last, and the definition of it that was approved last. */
interface Described {
  readonly toolset: string;
  readonly tool_id: string;
  readonly definition: string;
  readonly approved: string | undefined;
}

/** Every tool that a toolset has after these events. */
function describedBy(events: readonly IngressEvent[]): readonly Described[] {
  let described: readonly Omit<Described, 'approved'>[] = [];
  const approved = new Map<string, string>();
  const forget = (toolset: string): void => {
    for (const id of approved.keys()) if (id.startsWith(`${toolset}.`)) approved.delete(id);
  };
  const isNew = (toolset: string): boolean => ![...approved.keys()].some((id) => id.startsWith(`${toolset}.`));
  for (const event of events) {
    if (event.kind === 'ToolsetSet') {
      const trusted = event.trust === 'first' && isNew(event.toolset);
      const tools = event.tools.map(({ definition, spec }) => ({
        toolset: event.toolset,
        tool_id: spec.tool_id as string,
        definition: definitionDigest(definition) as string,
      }));
      for (const { tool_id, definition } of trusted ? tools : []) approved.set(tool_id, definition);
      described = [...described.filter(({ toolset }) => toolset !== event.toolset), ...tools];
    } else if (event.kind === 'ToolsetApproved') {
      for (const [id, digest] of Object.entries(event.tools)) approved.set(id, digest);
    } else if (event.kind === 'ToolsetRemoved') {
      described = described.filter(({ toolset }) => toolset !== event.toolset);
      forget(event.toolset);
    }
  }
  return described.map((tool) => ({ ...tool, approved: approved.get(tool.tool_id) }));
}

/** The tools that should be effective, sorted. Availability rules are those of the test tools. */
function referenceTools(state: SessionState, events: readonly IngressEvent[]): readonly string[] {
  const outside = new Map(describedBy(events).map((tool) => [tool.tool_id, tool]));
  const profile = state.tool_profiles[state.effective_tools.profile_id]?.tool_ids ?? [];
  const { session, run } = state.tool_overrides;
  const named = [...profile, ...session.enable, ...run.enable, ...session.force, ...run.force] as readonly string[];
  const disabled = [...session.disable, ...run.disable] as readonly string[];
  const ready = state.tool_runtime_context.host_session_status === 'ready';
  const ids = Object.keys(state.tool_registry).filter((id) => {
    const tool = outside.get(id);
    if (disabled.includes(id)) return false;
    if (tool !== undefined) return tool.approved === tool.definition;
    return named.includes(id) && (id !== 'hosted' || ready);
  });
  const others = ids.filter((id) => id !== 'tools.find');
  const most = (state.run?.config ?? state.config).offer_max ?? 512;
  return (others.length > most ? ids : others).sort();
}

const SEEDS = Array.from({ length: roundsOf(30, 400) }, (_, index) => index + 1);
const LENGTH = 120;

describe('23. unapproved tools are out', () => {
  test('the effective tools are those of the reference, after every event', () => {
    const seen = { outside: 0, quarantined: 0, searched: 0, cut: 0 };
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        const { effective_tools, toolsets = {}, run } = after.state;
        const ids = effective_tools.ordered_tools.map(({ tool_id }) => tool_id as string).sort();
        expect(ids).toEqual(referenceTools(after.state, after.events));
        for (const { effective, reasons } of effective_tools.verdicts) {
          if (reasons.includes('in_toolset') && effective) seen.outside += 1;
          if (reasons.includes('not_approved') || reasons.includes('definition_changed')) seen.quarantined += 1;
        }
        if (Object.values(toolsets).length > 0 && ids.includes('tools.find')) seen.searched += 1;
        if ((run?.offer?.verdicts ?? []).some(({ reasons }) => reasons.includes('beyond_offer'))) seen.cut += 1;
      });
    }
    for (const [what, count] of Object.entries(seen)) expect([what, count > SEEDS.length]).toEqual([what, true]);
  });

  test('what is offered is effective, within the bound, and has every tool that finds others', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (before, _, after) => {
        const offer = after?.state.run?.offer ?? null;
        if (after === null || offer === null || offer === before.state.run?.offer) return;
        const { ordered_tools } = after.state.effective_tools;
        const most = after.state.run?.config.offer_max ?? 512;
        expect(offer.ordered_tools).toHaveLength(Math.min(most, ordered_tools.length));
        expect(ordered_tools.filter((tool) => offer.ordered_tools.includes(tool))).toEqual(offer.ordered_tools);
        const finds = (tools: typeof ordered_tools) => tools.some(({ tool_id }) => tool_id === 'tools.find');
        expect(finds(offer.ordered_tools)).toBe(finds(ordered_tools));
        for (const { tool_id, effective, reasons } of offer.verdicts) {
          expect(effective).toBe(offer.ordered_tools.some((tool) => tool.tool_id === tool_id));
          const beyond = !effective && ordered_tools.some((tool) => tool.tool_id === tool_id);
          expect(reasons.includes('beyond_offer')).toBe(beyond);
        }
      });
    }
  });

  test('a call of a tool that is out neither waits nor starts', () => {
    let open = 0;
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        const batch = after?.state.active_tool_batch ?? null;
        if (after === null || batch === null || after.state.run?.ending !== null) return;
        const outside = new Map(describedBy(after.events).map((tool) => [tool.tool_id, tool]));
        for (const { call_id, tool_id } of batch.plan.planned_calls) {
          const tool = outside.get(tool_id);
          const { status } = after.callState(call_id) ?? {};
          if (tool === undefined || (status !== 'waiting' && status !== 'queued')) continue;
          open += 1;
          expect(tool.approved).toBe(tool.definition);
        }
      });
    }
    expect(open).toBeGreaterThan(0);
  });
});

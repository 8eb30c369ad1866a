// What happens to a toolset of a simulated session, as plain data. Its one tool is that which no package has, so that calls of
// it are refused, wait or run as the toolset is then. Drawn apart from the rest of a scenario.
import * as fc from 'fast-check';
import { defineTool } from '../../schemas/define-tool.ts';
import type { Ingress } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';

/**
 * `trust`: its source sets it and is trusted first. `set`: without trust. `change`: with another definition and the same spec.
 * `withdraw`: without its tool. `foreign`: another owner tries to.
 */
export const TOOLSET_ACTS = ['trust', 'set', 'change', 'withdraw', 'foreign', 'approve', 'remove'] as const;

/** An act at a time in milliseconds; at 0, before the first run is requested. */
export interface ToolsetAct {
  readonly atMs: number;
  readonly what: (typeof TOOLSET_ACTS)[number];
}

export const toolsetAct: fc.Arbitrary<ToolsetAct> = fc.record<ToolsetAct>({
  atMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2_500 })),
  what: fc.constantFrom(...TOOLSET_ACTS, 'trust', 'trust', 'change', 'approve'),
});

const TOOLSET = 'skill';

/** The pattern that matches the ids of its tools. */
export const TOOLSET_TOOLS = `${TOOLSET}.*`;

/** The event of an act, given the state of the session. */
export function toolsetIngress(what: ToolsetAct['what'], state: SessionState | null): Ingress {
  if (what === 'approve') {
    return { kind: 'ToolsetApproved', toolset: TOOLSET, tools: state?.toolsets?.[TOOLSET]?.tools ?? {} };
  }
  if (what === 'remove') return { kind: 'ToolsetRemoved', toolset: TOOLSET };
  const tools = what === 'withdraw' ? [] : [toolOf(what === 'change' ? (state?.version ?? 0) : 0)];
  const owner = brand<'OwnerId'>(what === 'foreign' ? 'stranger' : 'engine');
  return { kind: 'ToolsetSet', toolset: TOOLSET, owner, tools, ...(what === 'trust' ? { trust: 'first' } : {}) };
}

const SPEC = defineTool({
  tool_id: `${TOOLSET}.none`,
  tool_name: 'none',
  description: 'none',
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
  timeout_ms: 20_000,
  idempotent: true,
  parallelism_hint: { parallel_safe: true },
});

const toolOf = (version: number) => ({ definition: { text: JSON.stringify({ name: 'none', version }) }, spec: SPEC });

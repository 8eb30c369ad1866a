// Toolsets as a source that changes its mind sets them: few names and few definitions, so that a stream has tools that are
// approved, changed, taken away and given again.
import { ownTools } from '../../reducers/toolset-members.ts';
import { defineTool } from '../../schemas/define-tool.ts';
import type { Ingress } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';

type FactOf<K extends Ingress['kind']> = Extract<Ingress, { readonly kind: K }>;

interface From {
  readonly state: SessionState;
  readonly b: number;
}

type RegistryKind = 'ToolRegistrySet' | 'ToolsetSet' | 'ToolsetApproved' | 'ToolsetRemoved';
type RegistryWays = { readonly [K in RegistryKind]: { readonly unasked: (of: From) => readonly FactOf<K>[] } };

/** The facts about registered tools that may arrive at any time (`plausible-fact.ts`). */
export const REGISTRY_WAYS: RegistryWays = {
  ToolRegistrySet: {
    unasked: ({ state }) => [{ kind: 'ToolRegistrySet', registry: ownTools(state) }],
  },
  // Streams are short, and most of what toolsets do needs one that was set before.
  ToolsetSet: { unasked: ({ b }) => [toolsetFact(b), toolsetFact(b + 1)] },
  ToolsetApproved: { unasked: ({ state, b }) => [...approvalFacts(state, b), ...approvalFacts(state, b + 1)] },
  ToolsetRemoved: { unasked: ({ state, b }) => removalFacts(state, b) },
};

const NAMES = ['mcp.one', 'skill'] as const;

/** A set of one of two toolsets, with up to three tools in one of three versions. Now and then another owner sends it. */
export function toolsetFact(b: number): FactOf<'ToolsetSet'> {
  const toolset = NAMES[b % NAMES.length] ?? 'skill';
  const version = Math.trunc(b / 2) % 3;
  return {
    kind: 'ToolsetSet',
    toolset,
    owner: brand<'OwnerId'>(b % 7 === 6 ? 'stranger' : 'outside'),
    tools: ['a', 'b', 'c'].slice(0, 1 + (b % 3)).map((name) => toolsetTool(`${toolset}.${name}`, version)),
    ...(b % 5 < 2 ? { trust: 'first' as const } : {}),
  };
}

/** An approval of the tools that a toolset of the session has: of all, or of one. None without a toolset. */
export function approvalFacts({ toolsets = {} }: SessionState, b: number): FactOf<'ToolsetApproved'>[] {
  const known = Object.entries(toolsets);
  const chosen = known[b % Math.max(1, known.length)];
  if (chosen === undefined) return [];
  const [toolset, { tools }] = chosen;
  const approved = Object.entries(tools).slice(0, b % 4 === 0 ? 1 : undefined);
  return [{ kind: 'ToolsetApproved', toolset, tools: Object.fromEntries(approved), by: 'Ada' }];
}

/** The end of a toolset of the session. None without one. */
export function removalFacts({ toolsets = {} }: SessionState, b: number): FactOf<'ToolsetRemoved'>[] {
  const names = Object.keys(toolsets);
  const toolset = names[b % Math.max(1, names.length)];
  return toolset === undefined ? [] : [{ kind: 'ToolsetRemoved', toolset }];
}

/** Versions 0 and 1 differ only in what the source said, which no spec shows; version 2 has another spec, too. */
export const toolsetTool = (tool_id: string, version: number): FactOf<'ToolsetSet'>['tools'][number] => ({
  definition: { text: JSON.stringify({ name: tool_id, version }) },
  spec: defineTool({
    tool_id,
    tool_name: tool_id.replaceAll('.', '__'),
    description: version < 2 ? 'Does one thing.' : 'Does another thing.',
    input_schema: { type: 'object' },
    executor: { kind: 'mcp', server: 'outside', tool: tool_id },
    mode: 'external',
    ownership: 'mcp',
  }),
});

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
  readonly a: number;
  readonly b: number;
}

/** The facts about registered tools that may arrive at any time (`plausible-fact.ts`). */
export const REGISTRY_WAYS = {
  ToolRegistrySet: {
    unasked: ({ state }: From) => [{ kind: 'ToolRegistrySet' as const, registry: ownTools(state) }],
  },
  ToolsetSet: { unasked: ({ a, b }: From) => [toolsetFact(a, b)] },
  ToolsetApproved: { unasked: ({ state, a, b }: From) => [approvalFact(state, a, b)] },
  ToolsetRemoved: { unasked: ({ state, a, b }: From) => (b % 3 === 0 ? [removalFact(state, a)] : []) },
};

const NAMES = ['mcp.one', 'mcp.two', 'skill'] as const;

/** A set of one of a few toolsets, with up to three tools in one of three versions. Now and then another owner sends it. */
export function toolsetFact(a: number, b: number): FactOf<'ToolsetSet'> {
  const toolset = NAMES[a % NAMES.length] ?? 'skill';
  const version = b % 3;
  return {
    kind: 'ToolsetSet',
    toolset,
    owner: brand<'OwnerId'>((a + b) % 7 === 0 ? 'stranger' : 'outside'),
    tools: ['a', 'b', 'c'].slice(0, 1 + ((a + b) % 3)).map((name) => toolsetTool(`${toolset}.${name}`, version)),
    ...(b % 2 === 0 ? { trust: 'first' as const } : {}),
  };
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

/** An approval of the tools that a toolset of the session has: of all, or of one. */
export function approvalFact({ toolsets = {} }: SessionState, a: number, b: number): FactOf<'ToolsetApproved'> {
  const names = Object.keys(toolsets);
  const toolset = names[a % Math.max(1, names.length)] ?? 'skill';
  const tools = Object.entries(toolsets[toolset]?.tools ?? {});
  return {
    kind: 'ToolsetApproved',
    toolset,
    tools: Object.fromEntries(b % 2 === 0 ? tools : tools.slice(0, 1)),
    by: 'Ada',
  };
}

export const removalFact = ({ toolsets = {} }: SessionState, a: number): FactOf<'ToolsetRemoved'> => ({
  kind: 'ToolsetRemoved',
  toolset: Object.keys(toolsets)[a % 3] ?? 'skill',
});

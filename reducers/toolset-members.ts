// Which tools belong to the toolsets of a session, and what stands of each.
import type { ToolId } from '../schemas/ids.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { type Toolset, type Toolsets, toolsetNamedBy } from '../schemas/toolset.ts';

/** What is true of a tool of a toolset. `changed`: it has another definition than the approved one, or came after it. */
export type Standing = 'approved' | 'not_approved' | 'changed';

/** Null for a tool that belongs to no toolset of the session. */
export function standingOf(toolsets: Toolsets | undefined, id: ToolId): Standing | null {
  const toolset = toolsetOf(toolsets, id);
  if (toolset === null) return null;
  if (Object.hasOwn(toolset.pins, id) && toolset.pins[id] === toolset.tools[id]) return 'approved';
  return isTrusted(toolset) ? 'changed' : 'not_approved';
}

/** The toolset that has the tool now. */
function toolsetOf(toolsets: Toolsets | undefined, id: string): Toolset | null {
  const name = toolsets === undefined ? null : toolsetNamedBy(id);
  const toolset = name === null ? undefined : knownToolset(toolsets, name);
  return toolset !== undefined && Object.hasOwn(toolset.tools, id) ? toolset : null;
}

/** The toolset of this name, when the session has it. */
export const knownToolset = (toolsets: Toolsets | undefined, name: string): Toolset | undefined =>
  toolsets !== undefined && Object.hasOwn(toolsets, name) ? toolsets[name] : undefined;

/** Whether something of it was approved. */
export const isTrusted = ({ pins }: Toolset): boolean => Object.keys(pins).length > 0;

/** The registered tools except those of this toolset. */
export const toolsBeside = (
  { tool_registry, toolsets }: Pick<SessionState, 'tool_registry' | 'toolsets'>,
  without: string,
): readonly ToolSpec[] =>
  Object.values(tool_registry).filter(
    ({ tool_id }) => toolsetNamedBy(tool_id) !== without || toolsetOf(toolsets, tool_id) === null,
  );

/** The tools of all toolsets, which a replaced registry keeps. */
export const toolsetTools = ({
  tool_registry,
  toolsets,
}: Pick<SessionState, 'tool_registry' | 'toolsets'>): readonly ToolSpec[] =>
  toolsets === undefined
    ? []
    : Object.values(tool_registry).filter(({ tool_id }) => toolsetOf(toolsets, tool_id) !== null);

/** The registered tools that belong to no toolset: those that a `ToolRegistrySet` replaces. */
export const ownTools = ({
  tool_registry,
  toolsets,
}: Pick<SessionState, 'tool_registry' | 'toolsets'>): readonly ToolSpec[] =>
  Object.values(tool_registry).filter(({ tool_id }) => toolsetOf(toolsets, tool_id) === null);

/** The index of the first tool whose id belongs to a toolset of the session; -1 when there is none. */
export const findToolsetsTool = (toolsets: Toolsets | undefined, tools: readonly ToolSpec[]): number =>
  tools.findIndex(({ tool_id }) => knownToolset(toolsets, toolsetNamedBy(tool_id) ?? '') !== undefined);

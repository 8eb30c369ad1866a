// Where tools come from, and what their sources said of them: every definition in the events of a stream by its digest, so that
// what is approved can be compared with what was approved before.
import type { Content } from '../../../schemas/content.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import { type Digest, type OwnerId, type ToolId, brand } from '../../../schemas/ids.ts';
import type { SessionState } from '../../../schemas/state.ts';
import { type Toolset, type ToolsetName, definitionDigest, toolsetNamedBy } from '../../../schemas/toolset.ts';

/** Keeps the definitions while the events of a stream are read. */
export interface ToolsetHistory {
  add(event: IngressEvent): void;
  /** Null for a definition that no event has. */
  definition(digest: Digest): Content | null;
}

export function newToolsetHistory(): ToolsetHistory {
  const known = new Map<Digest, Content>();
  return {
    add(event) {
      if (event.kind !== 'ToolsetSet') return;
      for (const { definition } of event.tools) known.set(definitionDigest(definition), definition);
    },
    definition: (digest) => known.get(digest) ?? null,
  };
}

/** The toolset that has a tool, and who sets it. */
export interface ToolOrigin {
  readonly toolset: ToolsetName;
  readonly owner: OwnerId;
}

/** Null for a tool of the session's own registry. */
export function toolOrigin({ toolsets = {} }: SessionState, id: ToolId): ToolOrigin | null {
  const toolset = toolsetNamedBy(id) ?? '';
  const known = Object.hasOwn(toolsets, toolset) ? toolsets[toolset] : undefined;
  return known !== undefined && Object.hasOwn(known.tools, id) ? { toolset, owner: known.owner } : null;
}

/** A tool whose present definition is not the approved one. */
export interface WaitingTool {
  readonly tool_id: ToolId;
  readonly digest: Digest;
  /** The definition that was approved; null when none was. */
  readonly approved: Digest | null;
}

/** The tools of a toolset that wait for an approval, by tool id. */
export const waitingTools = ({ pins, tools }: Toolset): readonly WaitingTool[] =>
  Object.entries(tools)
    .filter(([id, digest]) => pins[id] !== digest)
    .map(([tool_id, digest]) => ({ tool_id: brand<'ToolId'>(tool_id), digest, approved: pins[tool_id] ?? null }));

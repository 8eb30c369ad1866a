// Who has tools for sessions that are not in their packages: servers, skills, a catalog.
import type { OwnerId } from '../../schemas/ids.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

export interface OfferedTool {
  /** Canonical JSON of all that the source said of the tool: what it is pinned by. */
  readonly definition: string;
  /** What the session gets of it. */
  readonly spec: ToolSpec;
}

export interface OfferedToolset {
  /** Its name: `mcp.<server>`, `skill` or `catalog`. */
  readonly toolset: string;
  /** All of its tools. */
  readonly tools: readonly OfferedTool[];
  /** `first`: while nothing of the toolset is approved, these definitions are, at once. */
  readonly trust: 'first' | null;
}

export interface ToolsetSource {
  /** Who sets the toolsets, by a name that stays from process to process. */
  readonly owner: OwnerId;
  /** Another number whenever anything of the rest changes. */
  version(): number;
  /** The toolsets that it is for, also those of which nothing is known yet. Another toolset of the owner is emptied. */
  names(): readonly string[];
  /** What they are now. One that is not here stays as it is recorded. */
  toolsets(): readonly OfferedToolset[];
  /** Resolves when it knows what it has, or will not know it soon. */
  ready(): Promise<void>;
}

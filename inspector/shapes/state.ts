// The tools and the state at a position.
import type { OfSource, Window } from './addresses.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { ToolMode } from '../../schemas/tool-mode.ts';
import type { ToolExplanation } from '../../src/core/index.ts';
import type { ShownText } from './texts.ts';

export interface ToolsAnswer {
  readonly at: number;
  readonly against: number | null;
  /** The profile in use and what chose it; at both positions. */
  readonly profile: string;
  readonly profile_against: string | null;
  readonly tools: readonly ToolRow[];
}

export interface ToolRow {
  /** Null when the tool is not registered at this position. */
  readonly tool: ShownTool | null;
  readonly against: ShownTool | null;
  /** In or out, the reasons, or the definition differ. */
  readonly changed: boolean;
}

export interface ShownTool extends ToolExplanation {
  readonly tool_ref: Digest;
  readonly description: string;
  readonly mode: ToolMode;
  readonly ownership: string;
  readonly executor: string;
  readonly effects: readonly string[];
  /** What the policy decides on a call of it, and why. */
  readonly consent: { readonly decision: string; readonly reasons: readonly string[] };
}

export interface StateWanted extends OfSource, Window {
  readonly at: number;
  readonly path: string;
}

export interface StatePart {
  readonly at: number;
  readonly path: string;
  readonly node: StateNode;
  /** The children in this window, in the order of canonical JSON. */
  readonly children: readonly StateNode[];
  readonly from: number;
}

export interface StateNode {
  readonly path: string;
  /** The last segment of its path, unescaped. */
  readonly name: string;
  readonly type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** The number of children. */
  readonly size: number;
  /** The value as one line of JSON, cut. */
  readonly text: ShownText;
  /** The digest of its canonical JSON; of the whole state, the state digest. Null for a plain value. */
  readonly digest: Digest | null;
}

export interface FindPath extends OfSource {
  readonly at: number;
  readonly text: string;
  readonly limit: number;
}

export interface PathsFound {
  readonly nodes: readonly StateNode[];
  /** How many more there are. */
  readonly rest: number;
}

/** Two JSON values compared: the paths with different values. */
export interface ShownDiff {
  readonly differences: readonly ShownDifference[];
  readonly rest: number;
}

/** `a` or `b` is null when that side has nothing at the path. */
export interface ShownDifference {
  readonly path: string;
  readonly a: ShownText | null;
  readonly b: ShownText | null;
}

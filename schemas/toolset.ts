// Toolsets: tools of one source outside the session's package (a server, skills, the catalog), each pinned by the digest of
// all that its source said of it, so that a definition that changes is out until an operator approves it.
import { digestText } from './canonical.ts';
import { type TypeOf, dictionary, shape, text } from './codec.ts';
import { Content, isInline } from './content.ts';
import { Digest, OwnerId, ToolId } from './ids.ts';
import { TOOLSETS_MAX, TOOLSET_PINS_MAX, TOOLSET_TOOLS_MAX } from './limits.ts';
import { ToolSpec } from './tool-spec.ts';

const NAME = 'mcp\\.[a-z0-9][a-z0-9_-]{0,31}|skill|catalog';

/** The source of a toolset. The ids of its tools begin with it and a dot. */
export const ToolsetName = text('ToolsetName', { min: 1, max: 36, pattern: new RegExp(`^(${NAME})$`) });
export type ToolsetName = TypeOf<typeof ToolsetName>;

/** One tool as its source describes it: the canonical JSON text of all that the source said, and the spec made of it. */
export const ToolsetTool = shape('ToolsetTool', { definition: Content, spec: ToolSpec });
export type ToolsetTool = TypeOf<typeof ToolsetTool>;

/**
 * A toolset in the state. `tools`: the digests of the present definitions; `pins`: those of the approved ones, which stay
 * when a tool goes away. Without pins, nothing of it was approved yet.
 */
export const Toolset = shape('Toolset', {
  owner: OwnerId,
  pins: dictionary(ToolId, Digest, TOOLSET_PINS_MAX),
  tools: dictionary(ToolId, Digest, TOOLSET_TOOLS_MAX),
});
export type Toolset = TypeOf<typeof Toolset>;

export const Toolsets = dictionary(ToolsetName, Toolset, TOOLSETS_MAX);
export type Toolsets = TypeOf<typeof Toolsets>;

/** The digest by which a definition is pinned: that of its text, wherever the text is. */
export const definitionDigest = (definition: Content): Digest =>
  isInline(definition) ? digestText(definition.text) : definition.ref;

const BELONGS = new RegExp(`^(${NAME})\\.`);

/** The toolset that an id names by its form, whether the session has it or not; null for every other id. */
export const toolsetNamedBy = (id: string): ToolsetName | null => BELONGS.exec(id)?.[1] ?? null;

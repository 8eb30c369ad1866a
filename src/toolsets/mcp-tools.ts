// A tool as an MCP server lists it becomes a tool of a toolset: the canonical text of all that the server said, by which it is
// pinned, and the spec that the engine plans with. What a server says of its own tools never widens what they may do: without
// the operator's word a tool is not read-only, destructive, not idempotent and runs alone.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import { defineTool } from '../../schemas/define-tool.ts';
import { type JsonObject, isJson, isPlainObject } from '../../schemas/json.ts';
import {
  CALL_TIMEOUT_MS_DEFAULT,
  DESCRIPTION_CHARS_MAX,
  MCP_DEFINITION_CHARS_MAX,
  MCP_TOOL_NAME_CHARS_MAX,
} from '../../schemas/limits.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { mcpHeaderFault } from './mcp-headers.ts';
import { mcpExecutorTool, mcpToolId, mcpToolName } from './mcp-names.ts';
import { mcpSchemaFault } from './mcp-schema.ts';

/** What the operator says of a server. */
export interface McpSource {
  readonly server: string;
  /** The hints of the server are believed: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`. */
  readonly trustHints?: boolean;
  readonly timeoutMs?: number;
}

export interface McpTool {
  /** The name at the server. */
  readonly name: string;
  /** Canonical JSON of all that the server said of the tool. */
  readonly definition: string;
  readonly spec: ToolSpec;
  /** The schema of the structured content of a result, when the server promised one. */
  readonly outputSchema: JsonObject | null;
}

/** A tool that is not used. */
export interface LeftOut {
  /** The name at the server, as far as it has one. */
  readonly name: string;
  /** Why, for people. */
  readonly reason: string;
}

export function mcpTool(source: McpSource, said: unknown): Either<LeftOut, McpTool> {
  const named = isPlainObject(said) && typeof said['name'] === 'string' ? said['name'] : '';
  const out = (reason: string): Either<LeftOut, never> =>
    left({ name: named.slice(0, MCP_TOOL_NAME_CHARS_MAX).toWellFormed(), reason });
  if (!isPlainObject(said) || named === '') return out('it has no name');
  if (named.length > MCP_TOOL_NAME_CHARS_MAX)
    return out(`its name is longer than ${MCP_TOOL_NAME_CHARS_MAX} characters`);
  const { inputSchema, outputSchema } = said;
  const faultOfInput = mcpSchemaFault(inputSchema);
  if (faultOfInput !== null) return out(`its inputSchema ${faultOfInput}`);
  if (!isPlainObject(inputSchema) || inputSchema['type'] !== 'object')
    return out('its inputSchema is not of the type object');
  const faultOfHeaders = mcpHeaderFault(inputSchema as JsonObject);
  if (faultOfHeaders !== null) return out(`its inputSchema ${faultOfHeaders}`);
  const faultOfOutput = outputSchema === undefined ? null : mcpSchemaFault(outputSchema);
  if (faultOfOutput !== null) return out(`its outputSchema ${faultOfOutput}`);
  if (!isJson(said)) return out('it holds what cannot be recorded, such as -0, half a character or the key __proto__');
  const definition = canonicalText(said);
  if (definition.length > MCP_DEFINITION_CHARS_MAX)
    return out(`its definition is longer than ${MCP_DEFINITION_CHARS_MAX} characters`);
  const spec = specOf(source, named, said);
  return right({ name: named, definition, spec, outputSchema: (outputSchema as JsonObject | undefined) ?? null });
}

function specOf({ server, trustHints = false, timeoutMs }: McpSource, name: string, said: JsonObject): ToolSpec {
  const hints = trustHints && isPlainObject(said['annotations']) ? said['annotations'] : {};
  const readOnly = hints['readOnlyHint'] === true;
  return defineTool({
    tool_id: mcpToolId(server, name),
    tool_name: mcpToolName(server, name),
    description: descriptionOf(said),
    input_schema: said['inputSchema'] as JsonObject,
    ownership: 'mcp',
    mode: 'external',
    executor: { kind: 'mcp', server, tool: mcpExecutorTool(server, name) },
    effects: ['mcp'],
    read_only: readOnly,
    destructive: !readOnly && hints['destructiveHint'] !== false,
    idempotent: readOnly || hints['idempotentHint'] === true,
    open_world: hints['openWorldHint'] !== false,
    // A person who interrupts does not wait for a server.
    interrupt_behavior: 'cancel',
    parallelism_hint: { parallel_safe: readOnly },
    timeout_ms: timeoutMs ?? CALL_TIMEOUT_MS_DEFAULT,
  });
}

/** Without what people would not see: the one who approves a tool sees all that the model reads. */
function descriptionOf({ description, title }: JsonObject): string {
  const text = typeof description === 'string' ? description : typeof title === 'string' ? title : '';
  const shown = text.replaceAll(UNSEEN, '');
  if (shown.length <= DESCRIPTION_CHARS_MAX) return shown.toWellFormed();
  return `${shown.slice(0, DESCRIPTION_CHARS_MAX - CUT.length).toWellFormed()}${CUT}`;
}

const CUT = ' [cut here]';
/** Control characters but tabs and line ends, marks of direction, and what has no width. */
const UNSEEN = /[^\P{Cc}\t\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

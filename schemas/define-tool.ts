// Builds a tool spec from the fields its author gives. Omitted fields take the safest default (docs/design.md, "Tools").
import { digestJson } from './canonical.ts';
import { brand } from './ids.ts';
import { type JsonObject, isJson } from './json.ts';
import { CALL_TIMEOUT_MS_DEFAULT, OUTPUT_BYTES_DEFAULT } from './limits.ts';
import { inferToolMode } from './tool-mode.ts';
import type { ToolSpec } from './tool-spec.ts';

type Definition = Pick<ToolSpec, 'tool_name' | 'description' | 'input_schema'> & {
  readonly output_schema?: JsonObject;
};

/** Digest of what the model sees of a tool: name, description and schemas (AOS P7, "Tool Inventory Layer"). */
export function toolRef(tool: Definition): ToolSpec['tool_ref'] {
  const { tool_name, description, input_schema, output_schema } = tool;
  return digestJson({
    name: tool_name,
    description,
    input_schema,
    ...(output_schema === undefined ? {} : { output_schema }),
  });
}

/** The fields an author must give; every other field of {@link ToolSpec} may be given too. */
export type ToolDefinition = Partial<Omit<ToolSpec, 'tool_ref' | 'tool_id' | 'tool_name' | 'input_schema'>> & {
  readonly tool_id: string;
  /** The name the model sees: 1 to 64 characters of `A-Z a-z 0-9 _ -`, unique in the registry. */
  readonly tool_name: string;
  readonly description: string;
  /** As people write it, or as a library makes it, such as `z.toJSONSchema(schema)`. */
  readonly input_schema: JsonObject | Readonly<Record<string, unknown>>;
};

/** The complete spec of a tool: `tool_ref` is computed, `mode` is inferred from the name unless given. */
export function defineTool(definition: ToolDefinition): ToolSpec {
  const tool_name = brand<'ToolName'>(definition.tool_name);
  const input_schema = plainSchema(definition.input_schema);
  const ownership = definition.ownership ?? 'managed';
  return {
    ownership,
    permission_policy: 'always_allow',
    effects: [],
    read_only: false,
    destructive: true,
    idempotent: false,
    open_world: true,
    interrupt_behavior: 'block',
    mode: inferToolMode(tool_name, ownership === 'managed' ? 'local' : 'external'),
    executor: { kind: 'host_loop', bridge: 'host.tool' },
    availability_rules: ['always'],
    parallelism_hint: { parallel_safe: false },
    timeout_ms: CALL_TIMEOUT_MS_DEFAULT,
    output_bytes_max: OUTPUT_BYTES_DEFAULT,
    ...definition,
    input_schema,
    tool_id: brand<'ToolId'>(definition.tool_id),
    tool_name,
    tool_ref: toolRef({ ...definition, input_schema, tool_name }),
  };
}

/** Libraries hide fields of their own in the schemas that they make. What is no JSON besides is refused by the engine. */
const plainSchema = (schema: ToolDefinition['input_schema']): JsonObject =>
  isJson(schema) ? schema : (JSON.parse(JSON.stringify(schema)) as JsonObject);

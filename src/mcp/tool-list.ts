// The effective tools of a session as MCP lists them. What the annotations say comes from the spec that the session judges by.
import type { Tool } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

/** In the order of the session. A run that waits for its host session lists what will be there. */
export const listedTools = ({ effective_tools }: SessionState): Tool[] => effective_tools.ordered_tools.map(toolOf);

export const specOf = ({ effective_tools }: SessionState, name: string): ToolSpec | undefined =>
  effective_tools.ordered_tools.find(({ tool_name }) => tool_name === name);

function toolOf(spec: ToolSpec): Tool {
  const { tool_name, description, read_only, destructive, idempotent, open_world } = spec;
  const output = outputSchemaOf(spec);
  return {
    name: tool_name,
    description,
    inputSchema: objectSchema(spec.input_schema),
    ...(output === undefined ? {} : { outputSchema: objectSchema(output) }),
    annotations: {
      readOnlyHint: read_only,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: open_world,
    },
  };
}

/** The fold answers for a workflow without data, so that its schema would promise what no result has. */
export const outputSchemaOf = ({ executor, output_schema }: ToolSpec): JsonObject | undefined =>
  executor.kind === 'workflow' ? undefined : output_schema;

/** Arguments are an object whatever the schema says; MCP wants the schema to say it, too. */
const objectSchema = (schema: JsonObject): Tool['inputSchema'] => ({ ...schema, type: 'object' });

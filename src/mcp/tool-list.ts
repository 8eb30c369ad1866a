// The effective tools of a session as MCP lists them. What the annotations say comes from the spec that the session judges by.
import type { ProtocolEra, Tool } from '@modelcontextprotocol/server';
import type { JsonObject } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import type { EndedCall } from './call-ends.ts';

/** In the order of the session. */
export const listedTools = ({ effective_tools }: SessionState, era: ProtocolEra): Tool[] =>
  effective_tools.ordered_tools.map((spec) => ({ ...toolOf(spec), ...(era === 'legacy' ? MAY_BE_TASK : {}) }));

/** In 2025-11-25 a host asks for a task where the tool permits it; later the server decides. */
const MAY_BE_TASK = { execution: { taskSupport: 'optional' } } as const;

export const specOf = ({ effective_tools }: SessionState, name: string): ToolSpec | undefined =>
  effective_tools.ordered_tools.find(({ tool_name }) => tool_name === name);

function toolOf(spec: ToolSpec): Tool {
  const { tool_name, description, read_only, destructive, idempotent, open_world } = spec;
  const output = promisedBy(spec);
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

/** The schema of the data that the host was promised with the result of a call. */
export function outputSchemaOf(state: SessionState, { call }: EndedCall): JsonObject | undefined {
  const spec = specOf(state, call.tool_name);
  return spec === undefined ? undefined : promisedBy(spec);
}

/** The fold answers for a workflow without data, so that its schema would promise what no result has. */
const promisedBy = ({ executor, output_schema }: ToolSpec): JsonObject | undefined =>
  executor.kind === 'workflow' ? undefined : output_schema;

/** Arguments are an object whatever the schema says; MCP wants the schema to say it, too. */
const objectSchema = (schema: JsonObject): Tool['inputSchema'] => ({ ...schema, type: 'object' });

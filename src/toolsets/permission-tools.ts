// The specs of the workflow tools, with which a model can find out whether a call needs consent (openboa, "Permission
// policies"). They are run by reducers/workflows.ts, by tool id; test/toolsets/tool-executors.test.ts checks that each
// spec has its function there.
import { defineTool } from '../../schemas/define-tool.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

type Definition = Parameters<typeof defineTool>[0];

const workflowTool = (definition: Omit<Definition, 'executor'>): ToolSpec =>
  defineTool({
    executor: { kind: 'workflow', workflow: definition.tool_id },
    mode: 'read',
    read_only: true,
    destructive: false,
    idempotent: true,
    open_world: false,
    effects: ['state.read'],
    parallelism_hint: { parallel_safe: true },
    ...definition,
  });

/** The specs of all workflow tools. */
export const permissionTools = (): readonly ToolSpec[] => [
  workflowTool({
    tool_id: 'permissions.check',
    tool_name: 'permissions_check',
    description:
      'Tell whether a call of a tool would run at once, ask a person first, or be denied, and why. Give the arguments ' +
      'you mean to use: for a shell command that only reads, the answer names the file tool that does the same ' +
      'without asking. Changes nothing.',
    input_schema: {
      type: 'object',
      properties: {
        tool_name: { type: 'string', minLength: 1, description: 'Name of the tool you mean to call.' },
        arguments: { type: 'object', description: 'The arguments you mean to call it with.' },
      },
      required: ['tool_name'],
      additionalProperties: false,
    },
  }),
  workflowTool({
    tool_id: 'permissions.describe',
    tool_name: 'permissions_describe',
    description:
      'List what waits for a person now, which tools ask a person, what was granted, and the policy. Changes nothing.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
  }),
];

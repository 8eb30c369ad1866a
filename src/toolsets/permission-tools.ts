// The specs of the workflow tools, with which a model can find out whether a call needs consent (openboa, "Permission
// policies"). They are run by reducers/workflows.ts, by tool id; test/toolsets/tool-executors.test.ts checks that each
// spec has its function there.
import { defineTool } from '../../schemas/define-tool.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';

type Definition = Parameters<typeof defineTool>[0];

/** A tool whose calls the fold settles: it changes nothing, and is named as its workflow. */
export const workflowTool = (definition: Omit<Definition, 'executor'>): ToolSpec =>
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

/** The specs of the workflow tools about consent. */
export const permissionTools = (): readonly ToolSpec[] => [
  workflowTool({
    tool_id: 'permissions.check',
    tool_name: 'permissions_check',
    description:
      'Check whether a call would run without approval, wait for the approval of a person, or be denied, and why. Give ' +
      'the arguments of the call: for a shell command that only reads, the answer names a file tool that returns the ' +
      'same without approval. Changes nothing.',
    input_schema: {
      type: 'object',
      properties: {
        tool_name: { type: 'string', minLength: 1, description: 'Name of the tool to call.' },
        arguments: { type: 'object', description: 'Arguments of the call.' },
      },
      required: ['tool_name'],
      additionalProperties: false,
    },
  }),
  workflowTool({
    tool_id: 'permissions.describe',
    tool_name: 'permissions_describe',
    description:
      'List the calls that wait for a person, the tools that require approval, the grants, and the policy. Changes nothing.',
    input_schema: { type: 'object', properties: {}, additionalProperties: false },
  }),
];

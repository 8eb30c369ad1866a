// The spec of the tool with which a model finds the tools beyond those that a generate offers. It is run by
// reducers/tool-search.ts.
import { FINDS_DEFAULT, FINDS_MAX } from '../../schemas/limits.ts';
import type { ToolSpec } from '../../schemas/tool-spec.ts';
import { workflowTool } from './permission-tools.ts';

/** Only available while the session has more tools than a generate offers. */
export const toolsFind = (): ToolSpec =>
  workflowTool({
    tool_id: 'tools.find',
    tool_name: 'tools_find',
    description:
      'Find further tools: this session has more than it can offer at a time. Give words of what you want to do, such as ' +
      '"create issue". Returns names and descriptions; you can call the tools from the next turn on.',
    input_schema: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, description: 'Words from names or descriptions of tools.' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: FINDS_MAX,
          description: `How many tools to return at most; ${FINDS_DEFAULT} unless given.`,
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    availability_rules: ['offer_exceeded'],
  });

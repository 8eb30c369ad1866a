// The tools of a request, and the choice among them.
import type { OfferedTool } from '../../../schemas/effect.ts';
import type { ToolChoice } from '../../../schemas/run.ts';
import { type ExactJson, type ExactObject, isExactObject, objectIn, textIn } from '../api/exact-json.ts';
import { messagesTool } from '../anthropic/tool-schema.ts';
import type { ConverseMessage } from './messages.ts';
import { serverBlock } from './server-work.ts';

/**
 * `toolConfig`; null when there is none to send. Converse has no choice `none`: then no tool is offered. It refuses messages with
 * calls without a `toolConfig`: when no tool is offered, those that were called are described as not available, the
 * provider's own among them.
 */
export function toolConfig(
  tools: readonly OfferedTool[],
  choice: ToolChoice | null,
  messages: readonly ConverseMessage[],
): ExactObject | null {
  const offered = choice === 'none' ? [] : tools.map(toolSpec);
  if (offered.length > 0) {
    const wanted = choiceOf(choice);
    return { tools: offered, ...(wanted === null ? {} : { toolChoice: wanted }) };
  }
  const names = new Set(messages.flatMap(({ content }) => content.flatMap(calledTool)));
  return names.size === 0 ? null : { tools: [...names].map(missingTool) };
}

function choiceOf(choice: ToolChoice | null): ExactObject | null {
  if (choice === null || choice === 'none') return null;
  if (choice === 'auto') return { auto: {} };
  return choice === 'required' ? { any: {} } : { tool: { name: choice.tool } };
}

/** The Messages API's form of a schema is what Converse takes: an object at the root, in the words of JSON Schema 2020-12. */
function toolSpec(tool: OfferedTool): ExactObject {
  const { name = '', description, input_schema = {} } = messagesTool(tool);
  return {
    toolSpec: { name, ...(description === undefined ? {} : { description }), inputSchema: { json: input_schema } },
  };
}

const missingTool = (name: string): ExactObject => ({
  toolSpec: {
    name,
    description: 'Not available now. Do not call it.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
});

function calledTool(block: ExactJson): readonly string[] {
  const name = isExactObject(block) ? textIn(objectIn(block['toolUse'])['name']) : (serverBlock(block)?.name ?? '');
  return name === '' ? [] : [name];
}

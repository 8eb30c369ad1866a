// The tools of a request, and the choice among them.
import type { OfferedTool } from '../../../schemas/effect.ts';
import type { Json } from '../../../schemas/json.ts';
import type { ToolChoice } from '../../../schemas/run.ts';
import { type ExactJson, type ExactObject, isExactObject, objectIn, textIn } from '../api/exact-json.ts';
import { ProviderError } from '../provider.ts';
import type { ConverseMessage } from './messages.ts';

/**
 * `toolConfig`; null when there is none to send. Converse has no choice `none`: then no tool is offered. It refuses messages with
 * calls without a `toolConfig`: when no tool is offered, those that were called are described as not available.
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

const toolSpec = ({ tool_name: name, description, input_schema }: OfferedTool): ExactObject => ({
  toolSpec: {
    name,
    ...(description.trim() === '' ? {} : { description }),
    inputSchema: { json: inputSchema(name, input_schema) },
  },
});

/** Converse takes schemas of objects only, and wants them to say so. Everything else in a schema is passed on. */
function inputSchema(tool: string, schema: Readonly<Record<string, Json>>): ExactObject {
  const { type } = schema;
  if (type === 'object') return schema;
  const allows = type === undefined || (Array.isArray(type) && type.includes('object')) || isGeminis(type);
  if (allows) return { ...schema, type: 'object' };
  throw new ProviderError(
    'invalid_request',
    `the input schema of the tool ${tool} does not fit Bedrock: /type is ${JSON.stringify(type)}; make it "object"`,
  );
}

/** The names that Gemini's servers and libraries have for an object. */
const isGeminis = (type: Json): boolean => type === 'OBJECT' || type === 6 || type === '6';

const missingTool = (name: string): ExactObject => ({
  toolSpec: {
    name,
    description: 'Not available now. Do not call it.',
    inputSchema: { json: { type: 'object', properties: {} } },
  },
});

function calledTool(block: ExactJson): readonly string[] {
  const name = isExactObject(block) ? textIn(objectIn(block['toolUse'])['name']) : '';
  return name === '' ? [] : [name];
}

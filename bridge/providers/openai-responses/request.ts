// Writes a request of the Responses API. Nothing is stored on the server: all items go each time, and the reasoning of models
// that reason is asked for in its encrypted form, so that it can go back.
import type { RequestTarget, WireRequest } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, exactText } from '../api/exact-json.ts';
import type { GenerateRequest } from '../provider.ts';
import { inputItems } from './input-items.ts';
import { encodeTool } from './tool-schema.ts';
import { allowedName } from './turn-items.ts';

export function encodeResponsesRequest(request: GenerateRequest, { model, stream }: RequestTarget): WireRequest {
  const { instructions, messages, tools, tool_choice, parallel_calls, reasoning, temperature } = request;
  const body: Record<string, ExactJson> = { model };
  if (instructions !== null && instructions !== '') body['instructions'] = instructions;
  body['input'] = inputItems(messages, model);
  if (tools.length > 0) {
    body['tools'] = tools.map(encodeTool);
    // The API refuses both without tools.
    if (tool_choice !== undefined && tool_choice !== null) body['tool_choice'] = toolChoice(tool_choice);
    if (parallel_calls !== undefined && parallel_calls !== null) body['parallel_tool_calls'] = parallel_calls;
  }
  // The API has no limit of thinking tokens: `tokens_max` has no place here.
  if (reasoning?.effort !== undefined) body['reasoning'] = { effort: reasoning.effort };
  if (request.output_tokens_max !== null) body['max_output_tokens'] = request.output_tokens_max;
  if (temperature !== undefined && temperature !== null) body['temperature'] = temperature;
  body['store'] = false;
  if (mayReason(model)) body['include'] = ['reasoning.encrypted_content'];
  if (stream) body['stream'] = true;
  return {
    path: '/responses',
    headers: { accept: stream ? 'text/event-stream, application/json' : 'application/json' },
    body: exactText(body),
  };
}

const toolChoice = (choice: NonNullable<GenerateRequest['tool_choice']>): string | ExactObject =>
  typeof choice === 'string' ? choice : { type: 'function', name: allowedName(choice.tool) };

// OpenAI refuses a request for encrypted reasoning to these models, which do not reason.
const NEVER_REASONS = /(?:^|[/.])(?:chatgpt-|gpt-3|gpt-4|gpt-5(?:\.[0-9]+)?-chat)/;

const mayReason = (model: string): boolean => !NEVER_REASONS.test(model.toLowerCase());

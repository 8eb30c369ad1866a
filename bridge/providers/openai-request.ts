// A conversation as a Chat Completions request.
import type { OfferedTool } from '../../schemas/effect.ts';
import { type Json, type JsonObject, isPlainObject } from '../../schemas/json.ts';
import type { GenerateRequest, Message, MessageCall } from './provider.ts';

export interface RequestStyle {
  readonly model: string;
  readonly stream: boolean;
  /** `max_completion_tokens` for OpenAI's servers, whose newer models refuse the older name; else `max_tokens`. */
  readonly tokensField: 'max_completion_tokens' | 'max_tokens';
}

export function chatRequest(request: GenerateRequest, { model, stream, tokensField }: RequestStyle): JsonObject {
  const { instructions, messages, tools, output_tokens_max } = request;
  const system: readonly JsonObject[] = instructions === null ? [] : [{ role: 'system', content: instructions }];
  return {
    model,
    messages: [...system, ...messages.map(chatMessage)],
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool) }),
    ...(output_tokens_max === null ? {} : { [tokensField]: output_tokens_max }),
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  };
}

function chatMessage(message: Message): JsonObject {
  if (message.role === 'user') return { role: 'user', content: message.text };
  if (message.role === 'tool') return { role: 'tool', tool_call_id: message.call_id, content: message.text };
  const { text, calls } = message;
  if (calls.length === 0) return { role: 'assistant', content: text };
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls.map(chatCall) };
}

const chatCall = ({ id, name, arguments: written }: MessageCall): Json => ({
  id,
  type: 'function',
  function: { name: functionName(name), arguments: objectText(written) },
});

const chatTool = ({ tool_name, description, input_schema }: OfferedTool): Json => ({
  type: 'function',
  function: { name: tool_name, description, parameters: input_schema },
});

// Servers refuse a whole conversation because of one invalid tool name that a model made up.
const functionName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';

// Many servers parse the arguments of earlier calls, and fail when these are not a JSON object. What the model wrote is
// wrapped in an object; the result of the call states what was wrong.
function objectText(written: string): string {
  try {
    if (isPlainObject(JSON.parse(written))) return written;
  } catch {
    // Not JSON: wrapped below.
  }
  return JSON.stringify({ invalid_arguments: written });
}

// A conversation as a request of Converse or ConverseStream.
import type { RequestTarget, WireRequest } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, exactText } from '../api/exact-json.ts';
import type { GenerateRequest } from '../provider.ts';
import { converseMessages } from './messages.ts';
import { samplingOf } from './thinking.ts';
import { toolConfig } from './tools.ts';

export function encodeConverse(request: GenerateRequest, { model, stream }: RequestTarget): WireRequest {
  return {
    // The name may be an ARN, with slashes and colons.
    path: `/model/${encodeURIComponent(model)}/${stream ? 'converse-stream' : 'converse'}`,
    headers: { accept: stream ? 'application/vnd.amazon.eventstream' : 'application/json' },
    body: exactText(converseBody(request, model)),
  };
}

function converseBody(request: GenerateRequest, model: string): ExactObject {
  const { instructions, tools, output_tokens_max, tool_choice = null } = request;
  const messages = converseMessages(request.messages, model);
  const { fields, temperature } = samplingOf(request, model, messages);
  const inference = {
    ...(output_tokens_max === null ? {} : { maxTokens: output_tokens_max }),
    ...(temperature === null ? {} : { temperature }),
  };
  return {
    ...(instructions === null || instructions.trim() === '' ? {} : { system: [{ text: instructions }] }),
    messages,
    ...(Object.keys(inference).length === 0 ? {} : { inferenceConfig: inference }),
    ...given('toolConfig', toolConfig(tools, tool_choice, messages)),
    ...given('additionalModelRequestFields', fields),
  };
}

const given = (key: string, value: ExactJson): ExactObject => (value === null ? {} : { [key]: value });

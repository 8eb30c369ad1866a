// What the tests of the Responses API are given.
import type { StreamEvent } from '../../../../bridge/providers/api/dialect.ts';
import type { ExactJson } from '../../../../bridge/providers/api/exact-json.ts';
import { openAiResponses } from '../../../../bridge/providers/openai-responses/dialect.ts';
import type {
  AssistantMessage,
  GenerateReply,
  GenerateRequest,
  Message,
} from '../../../../bridge/providers/provider.ts';
import { brand } from '../../../../schemas/ids.ts';
import { runSteps } from '../../../../src/core/steps.ts';

export const MODEL = 'gpt-5.4';

export function requestOf(messages: readonly Message[], more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    session_id: brand<'SessionId'>('s'),
    run_id: brand<'RunId'>('r'),
    turn: 1,
    provider: 'openai',
    model: MODEL,
    instructions: null,
    output_tokens_max: null,
    tools: [],
    messages,
    ...more,
  };
}

export function bodyOf(messages: readonly Message[], more: Partial<GenerateRequest> = {}): Record<string, unknown> {
  const request = requestOf(messages, more);
  const { body } = openAiResponses.encode(request, { model: request.model, baseUrl: 'https://host/v1', stream: true });
  return JSON.parse(body) as Record<string, unknown>;
}

export const inputOf = (messages: readonly Message[], model = MODEL): readonly unknown[] =>
  bodyOf(messages, { model })['input'] as readonly unknown[];

export const response = (output: readonly unknown[], more: object = {}): ExactJson =>
  ({ object: 'response', status: 'completed', model: 'gpt-5.4-2026-03-05', output, ...more }) as unknown as ExactJson;

export const read = (output: readonly unknown[], more: object = {}): GenerateReply =>
  runSteps(openAiResponses.read(response(output, more)));

/** The turn of a reply as the next request has it. */
export function turnOf(reply: GenerateReply): AssistantMessage {
  const calls = reply.calls.map((call, index) => ({
    id: call.id ?? `call-1-${index}`,
    name: call.name,
    arguments: call.arguments_text ?? JSON.stringify(call.arguments),
  }));
  const { layout } = reply;
  return { role: 'assistant', text: reply.content ?? '', calls, ...(layout === undefined ? {} : { layout }) };
}

export const user = (text: string): Message => ({ role: 'user', text });

/** The items that a reply goes back as, without the results of its calls. */
export function backOf(reply: GenerateReply, model = MODEL): readonly unknown[] {
  const turn = turnOf(reply);
  return inputOf([user('q'), turn], model).slice(1, -turn.calls.length || undefined);
}

export const event = (type: string, fields: object = {}): StreamEvent => ({
  name: type,
  data: JSON.stringify({ type, ...fields }),
});

/** The deltas and the final form of a stream. */
export function foldOf(events: readonly StreamEvent[]): {
  readonly deltas: readonly unknown[];
  readonly final: ExactJson | null;
} {
  const fold = openAiResponses.newFold();
  const deltas = events.flatMap((each) => fold.add(each));
  return { deltas, final: runSteps(fold.final()) };
}

export const message = (text: string, more: object = {}): object => ({
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
  role: 'assistant',
  ...more,
});

export const functionCall = (call_id: string, name = 'add', written = '{"a":1}'): object => ({
  id: `fc_${call_id}`,
  type: 'function_call',
  status: 'completed',
  arguments: written,
  call_id,
  name,
});

export const reasoning = (encrypted_content: string | null, more: object = {}): object => ({
  id: 'rs_1',
  type: 'reasoning',
  ...(encrypted_content === null ? {} : { encrypted_content }),
  summary: [],
  ...more,
});

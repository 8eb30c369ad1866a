// Events, messages and requests of the tests of this folder.
import { anthropicMessages } from '../../../../bridge/providers/anthropic/dialect.ts';
import { type ExactJson, type ExactObject, parseExact } from '../../../../bridge/providers/api/exact-json.ts';
import type { StreamFold } from '../../../../bridge/providers/api/dialect.ts';
import type {
  AssistantMessage,
  GenerateReply,
  GenerateRequest,
  Message,
  MessageCall,
  ReplyDelta,
  ToolMessage,
} from '../../../../bridge/providers/provider.ts';
import type { LayoutPart } from '../../../../schemas/model-turn.ts';
import { requestOf } from '../../../conformance/providers/anthropic.ts';
import { runSteps } from '../../../../src/core/steps.ts';

interface NamedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const MODEL = 'claude-sonnet-4-5-20250929';

export const messageOf = (content: readonly object[], more: object = {}): ExactObject => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content: content as readonly ExactObject[],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
  ...more,
});

export const read = (message: object): GenerateReply =>
  runSteps(anthropicMessages.read(parseExact(JSON.stringify(message))));

export const begin = { type: 'message_start', message: messageOf([], { stop_reason: null }) };
export const blockStart = (index: number, content_block: object): NamedEvent => ({
  type: 'content_block_start',
  index,
  content_block,
});
export const blockDelta = (index: number, delta: object): NamedEvent => ({ type: 'content_block_delta', index, delta });
export const finish = (stop_reason: string, usage: object = {}): readonly NamedEvent[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7, ...usage } },
  { type: 'message_stop' },
];

/** The events folded; `named`: whether each has the name that the API gives it. */
export function fold(
  events: readonly object[],
  named = true,
): { readonly fold: StreamFold; readonly deltas: ReplyDelta[] } {
  const target = anthropicMessages.newFold();
  const deltas: ReplyDelta[] = [];
  for (const event of events) {
    const name = named ? (event as { readonly type: string }).type : null;
    deltas.push(...target.add({ name, data: JSON.stringify(event) }));
  }
  return { fold: target, deltas };
}

export const folded = (events: readonly object[]): ExactJson => runSteps(fold(events).fold.final());

export const user = (text: string): Message => ({ role: 'user', text });
export const call = (id: string, name = 'read', args = '{}'): MessageCall => ({ id, name, arguments: args });
export const result = (call_id: string, more: Partial<ToolMessage> = {}): Message => ({
  role: 'tool',
  call_id,
  name: 'read',
  text: 'done',
  is_error: false,
  ...more,
});

export const assistant = (
  text: string,
  calls: readonly MessageCall[] = [],
  parts?: readonly LayoutPart[],
): AssistantMessage => ({
  role: 'assistant',
  text,
  calls,
  ...(parts === undefined ? {} : { layout: { api: 'anthropic.messages', model: MODEL, parts } }),
});

export interface WireBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface WireBody {
  readonly messages: readonly { readonly role: string; readonly content: readonly WireBlock[] }[];
  readonly [field: string]: unknown;
}

export function encoded(messages: readonly Message[], more: Partial<GenerateRequest> = {}, model = MODEL): WireBody {
  const request = { ...requestOf(messages), reasoning: null, ...more };
  const { body } = anthropicMessages.encode(request, { model, baseUrl: 'https://api.anthropic.com/v1', stream: false });
  return JSON.parse(body) as WireBody;
}

// Prompts of a graph as the core compares them: roles, contents and calls, without ids and what a provider added.
import type { Json } from '../../schemas/index.ts';
import type { LoopResult, PromptMessage } from '../durable/turn.ts';
import type { GraphCall } from './sdk.ts';

export interface ReadPrompt {
  readonly prompt: readonly PromptMessage[];
  readonly input: string;
  readonly instructions: string | null;
  /** Every result of a call in the prompt, by the id of the call. */
  readonly results: ReadonlyMap<string, LoopResult>;
}

/** A message of the framework, as an object of its own or as what it makes one of. */
interface Given {
  readonly content?: unknown;
  readonly role?: string;
  readonly type?: string;
  readonly name?: string;
  readonly tool_calls?: readonly GraphCall[];
  readonly tool_call_id?: string;
  readonly status?: string;
  getType?(): string;
}

/** `input` is what a chat model takes: a text, a list of messages, or a prompt value that makes one. */
export function readGraphPrompt(input: unknown): ReadPrompt {
  const messages = messagesOf(input).map(readMessage);
  const results = messages.filter(({ call }) => call !== undefined);
  return {
    prompt: messages.map(({ role, content, calls, call }) => ({
      role,
      content: [content, ...(calls.length === 0 ? [] : [calls]), ...(call === undefined ? [] : [call])],
    })),
    input: spokenText(messages.findLast(({ role }) => role === 'user')?.content),
    instructions: messages.find(({ role }) => role === 'system')?.text ?? null,
    results: new Map(results.map(({ call = '', text, failed }) => [call, { text, success: !failed }])),
  };
}

/** What a chat model is asked, with other ids of calls: a list of messages, or the input as it is when it has no calls. */
export function graphInputWithIds(input: unknown, idOf: (id: string) => string): unknown {
  if (typeof input === 'string') return input;
  return messagesOf(input).map((message) => messageWithIds(message, idOf));
}

function messageWithIds(message: unknown, idOf: (id: string) => string): unknown {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return message;
  const { tool_calls, tool_call_id } = message as Given;
  const calls = Array.isArray(tool_calls)
    ? { tool_calls: (tool_calls as readonly GraphCall[]).map((call) => callWithId(call, idOf)) }
    : {};
  const result = tool_call_id === undefined ? {} : { tool_call_id: idOf(tool_call_id) };
  if (tool_calls === undefined && tool_call_id === undefined) return message;
  // Messages are objects of classes of the framework.
  return Object.assign(Object.create(Object.getPrototypeOf(message) as object) as object, message, calls, result);
}

const callWithId = (call: GraphCall, idOf: (id: string) => string): GraphCall =>
  call.id === undefined ? call : { ...call, id: idOf(call.id) };

function messagesOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input)) return input as readonly unknown[];
  if (typeof input === 'object' && input !== null && 'toChatMessages' in input) {
    return (input as { toChatMessages(): readonly unknown[] }).toChatMessages();
  }
  return [input];
}

interface ReadMessage {
  readonly role: string;
  readonly content: Json;
  readonly text: string;
  readonly calls: Json[];
  readonly call: string | undefined;
  readonly failed: boolean;
}

function readMessage(given: unknown): ReadMessage {
  if (typeof given === 'string') return message({ role: 'user', content: given });
  if (Array.isArray(given)) return message({ role: String(given[0]), content: given[1] as unknown });
  const fields = given as Given;
  return message({ ...fieldsOf(fields), role: fields.getType?.() ?? fields.role ?? fields.type ?? '' });
}

const fieldsOf = ({ content, tool_calls, tool_call_id, status }: Given): Given => ({
  content,
  ...(tool_calls === undefined ? {} : { tool_calls }),
  ...(tool_call_id === undefined ? {} : { tool_call_id }),
  ...(status === undefined ? {} : { status }),
});

const ROLES: Readonly<Record<string, string>> = { human: 'user', ai: 'assistant', developer: 'system' };

function message({ role = '', content, tool_calls = [], tool_call_id, status }: Given): ReadMessage {
  return {
    role: ROLES[role] ?? role,
    content: JSON.parse(JSON.stringify(content ?? '')) as Json,
    text: spokenText(content),
    calls: tool_calls.map(({ name, args, id = '' }) => JSON.parse(JSON.stringify([id, name, args])) as Json),
    call: tool_call_id,
    failed: status === 'error',
  };
}

/** The texts of a content, which is a text or a list of blocks. */
export function spokenText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as readonly unknown[])
    .map((block) => {
      if (typeof block === 'string') return block;
      const { text } = block as { readonly text?: unknown };
      return typeof text === 'string' ? text : '';
    })
    .join('');
}

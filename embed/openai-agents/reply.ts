// Answers of a model of the framework as the record keeps them: their texts and calls, and what only the framework reads.
import type { ReplyCall } from '../../bridge/index.ts';
import type { JsonObject, LayoutPart, Usage } from '../../schemas/index.ts';
import type { RecordedCall, RecordedTurn, TurnReply } from '../durable/turn.ts';
import { countedUsage } from '../durable/usage.ts';
import type { AgentsItem, AgentsResponse, AgentsUsage } from './sdk.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a turn records beside its texts and calls, in the parts of its layout. */
interface Envelope {
  /** A message begins here: its fields but `content`. */
  readonly message?: Fields;
  /** An entry of the content of the message, without its text. */
  readonly content?: object;
  /** The answer itself, without its output. */
  readonly response?: Fields;
}

/** Throws nothing: what is no JSON is left out, as the framework leaves it out when it stores its state. */
export function agentsReply({ output, ...response }: AgentsResponse): TurnReply {
  const parts: LayoutPart[] = [item({ response })];
  const calls: ReplyCall[] = [];
  let content = '';
  for (const given of output) {
    if (isMessage(given)) {
      const { content: entries, ...message } = given;
      if (entries.length === 0) parts.push(item({ message }));
      for (const [index, entry] of entries.entries()) {
        const begin = index === 0 ? { message } : {};
        if (isText(entry)) {
          const { text, ...fields } = entry;
          content += text;
          parts.push({ text: text.length, with: JSON.stringify({ ...begin, content: fields }) });
        } else {
          parts.push(item({ ...begin, content: entry }));
        }
      }
    } else if (isCall(given)) {
      const { callId, name, arguments: written, ...fields } = given;
      parts.push({ call: calls.length, with: JSON.stringify(fields) });
      calls.push({ id: callId, name, arguments_text: written });
    } else {
      parts.push({ item: JSON.stringify({ refold: 'item', item: given }) });
    }
  }
  return {
    content,
    calls,
    parts,
    ...countedIn(response.usage),
    stop: { reason: calls.length > 0 ? 'calls' : 'end' },
  };
}

const item = (envelope: Envelope): LayoutPart => ({ item: JSON.stringify({ refold: 'envelope', ...envelope }) });

const countedIn = (given: Partial<AgentsUsage> | null | undefined): Pick<TurnReply, 'usage'> =>
  countedUsage({ input_tokens: given?.inputTokens, output_tokens: given?.outputTokens });

/** The recorded answer, as the framework takes it. What was lost with a secret is as a message or call without more fields. */
export function responseOf({ content, calls, parts, usage }: RecordedTurn): AgentsResponse {
  const output: AgentsItem[] = [];
  let response: Fields = {};
  let entries: object[] | null = null;
  let at = 0;

  const addEntry = (envelope: Envelope, entry: object): void => {
    if (envelope.message !== undefined || entries === null) {
      entries = [];
      output.push({ ...(envelope.message ?? PLAIN_MESSAGE), content: entries });
    }
    entries.push(entry);
  };

  for (const part of parts) {
    if ('text' in part) {
      const envelope = envelopeOf(part.with);
      addEntry(envelope, { type: 'output_text', ...envelope.content, text: content.slice(at, at + part.text) });
      at += part.text;
      continue;
    }
    if ('item' in part) {
      const kept = JSON.parse(part.item) as Envelope & { readonly refold?: string; readonly item?: object };
      if (kept.refold === 'item' && kept.item !== undefined) {
        entries = null;
        output.push(kept.item);
      } else if (kept.content !== undefined) addEntry(kept, kept.content);
      else if (kept.message !== undefined) output.push({ ...kept.message, content: [] });
      else response = kept.response ?? {};
      continue;
    }
    entries = null;
    const call = calls[part.call];
    if (call !== undefined) output.push(callItem(call, part.with));
  }
  // What is no number is no JSON, either.
  const recordedUsage = Object.entries((response['usage'] ?? {}) as AgentsUsage).filter(([, value]) => value !== null);
  return { ...response, usage: { ...plainUsage(usage), ...Object.fromEntries(recordedUsage) }, output };
}

const PLAIN_MESSAGE = { type: 'message', role: 'assistant', status: 'completed' } as const;

const envelopeOf = (text: string | undefined): Envelope => (text === undefined ? {} : (JSON.parse(text) as Envelope));

const callItem = ({ id, name, arguments: written }: RecordedCall, fields: string | undefined): object => ({
  type: 'function_call',
  status: 'completed',
  ...(fields === undefined ? {} : (JSON.parse(fields) as JsonObject)),
  callId: id,
  name,
  arguments: written,
});

/** The fields that the framework adds to the usage of its run. */
const plainUsage = (usage: Usage | null) => ({
  requests: 1,
  inputTokens: usage?.input_tokens ?? 0,
  outputTokens: usage?.output_tokens ?? 0,
  totalTokens: (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0),
  inputTokensDetails: [],
  outputTokensDetails: [],
});

const isMessage = (given: AgentsItem): given is { readonly content: readonly object[] } =>
  'role' in given && given.role === 'assistant' && 'content' in given && Array.isArray(given.content);

const isText = (entry: object): entry is { readonly text: string } =>
  'type' in entry && entry.type === 'output_text' && 'text' in entry && typeof entry.text === 'string';

const isCall = (
  given: AgentsItem,
): given is { readonly callId: string; readonly name: string; readonly arguments: string } =>
  'type' in given && given.type === 'function_call' && 'arguments' in given && typeof given.arguments === 'string';

// Assembles a reply from the chunks of a stream, or from one whole completion. Servers differ in every detail of this
// format: chunks may lack the index or the id, repeat the name or the id, have arguments as text, as a value or not at all,
// and content as text, as parts or null.
import { type Json, isPlainObject } from '../../schemas/json.ts';
import type { Usage } from '../../schemas/run.ts';
import { ProviderError, type GenerateReply, type ReplyCall } from './provider.ts';
import { errorOfBody } from './openai-error.ts';

export interface ReplyAssembler {
  /** Adds a chunk or a completion; throws a {@link ProviderError} when it contains an error. */
  add(chunk: unknown): void;
  /** The server has marked the reply as complete. */
  isFinished(): boolean;
  /** Throws a {@link ProviderError} when the reply is empty. */
  reply(): GenerateReply;
}

type Fields = Readonly<Record<string, unknown>>;

/** A call that is being assembled. */
interface Slot {
  index: number | null;
  id: string;
  name: string;
  text: string;
  value: Json | undefined;
}

interface Choice {
  text: string;
  refusal: string;
  /** It ended at the token limit (`finish_reason: "length"`): the last call may be incomplete. */
  cut: boolean;
  readonly slots: Slot[];
}

export function newReplyAssembler(): ReplyAssembler {
  // A server may send several choices; the one with the lowest index is the reply.
  const choices = new Map<number, Choice>();
  let usage: Usage | undefined;
  let finished = false;

  function addChoice(value: Fields): void {
    const index = typeof value['index'] === 'number' ? value['index'] : 0;
    const choice = choices.get(index) ?? { text: '', refusal: '', cut: false, slots: [] };
    choices.set(index, choice);
    const finish = value['finish_reason'];
    if (finish === 'error') throw errorOfBody(value, null);
    if (typeof finish === 'string' && finish !== '') finished = true;
    choice.cut ||= finish === 'length';
    // When both are present, the message repeats what the deltas so far add up to.
    if (isPlainObject(value['delta'])) addMessage(choice, value['delta'], false);
    else if (isPlainObject(value['message'])) {
      addMessage(choice, value['message'], true);
      finished = true;
    }
  }

  return {
    add(chunk) {
      if (!isPlainObject(chunk))
        throw new ProviderError('provider_retryable', 'the server sent data that is not a JSON object');
      const { error } = chunk;
      if ((error !== undefined && error !== null) || chunk['object'] === 'error') throw errorOfBody(chunk, null);
      usage = usageOf(chunk['usage']) ?? usage;
      for (const value of listOf(chunk['choices'])) if (isPlainObject(value)) addChoice(value);
    },
    isFinished: () => finished,
    reply() {
      const choice = choices.get(Math.min(...choices.keys()));
      if (choice === undefined) throw new ProviderError('provider_retryable', 'the answer is empty');
      const { text, refusal, cut, slots } = choice;
      const content = text === '' ? refusal : text;
      return {
        ...(content === '' ? {} : { content }),
        calls: slots.map((slot, index) => callOf(slot, cut && index === slots.length - 1)),
        ...(usage === undefined ? {} : { usage }),
      };
    },
  };
}

function addMessage(choice: Choice, message: Fields, whole: boolean): void {
  choice.text += textOf(message['content']);
  if (typeof message['refusal'] === 'string') choice.refusal += message['refusal'];
  for (const call of listOf(message['tool_calls'])) if (isPlainObject(call)) addCall(choice.slots, call, whole);
  // The predecessor of `tool_calls`: one call, without an id.
  const single = message['function_call'];
  if (isPlainObject(single)) addCall(choice.slots, { index: 0, function: single }, whole);
}

function addCall(slots: Slot[], call: Fields, whole: boolean): void {
  const body = fieldsOf(call['function']) ?? fieldsOf(call['custom']) ?? {};
  const id = stringOf(call['id']);
  const name = stringOf(body['name']);
  const index = typeof call['index'] === 'number' ? call['index'] : null;
  let slot = whole ? undefined : findSlot(slots, { index, id, name });
  if (slot === undefined) {
    slot = { index, id, name, text: '', value: undefined };
    slots.push(slot);
  }
  if (slot.id === '') slot.id = id;
  if (slot.name === '') slot.name = name;
  const written = body['arguments'] ?? body['input'];
  if (typeof written === 'string') slot.text += written;
  else if (written !== undefined && written !== null) slot.value = written as Json;
}

/** The call that a delta continues; undefined when it begins a new one. */
function findSlot(slots: readonly Slot[], { index, id, name }: Pick<Slot, 'index' | 'id' | 'name'>): Slot | undefined {
  const sameId = id === '' ? undefined : slots.findLast((slot) => slot.id === id);
  if (index === null) {
    if (sameId !== undefined || id !== '') return sameId;
    return name === '' ? slots.at(-1) : undefined;
  }
  const at = slots.findLast((slot) => slot.index === index);
  if (at === undefined) return undefined;
  // Some servers give every call the index 0: a different id or name means a different call.
  if (id !== '' && at.id !== '' && id !== at.id) return sameId;
  return name !== '' && at.name !== '' && name !== at.name && id === '' ? undefined : at;
}

function callOf({ id, name, text, value }: Slot, cut: boolean): ReplyCall {
  const named = { ...(id === '' ? {} : { id }), name };
  if (text.trim() !== '') return { ...named, arguments_text: text };
  // The call must not run without its missing arguments. This text is not JSON, so the model gets an error to correct.
  if (cut && value === undefined) return { ...named, arguments_text: CUT_ARGUMENTS };
  // Models often call a tool without parameters without any arguments.
  return { ...named, arguments: value ?? {} };
}

const CUT_ARGUMENTS = '… (cut: the answer ended before the arguments of its last call)';

/** The text itself, or the text of its parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (isPlainObject(part) && part['type'] === 'text' ? stringOf(part['text']) : ''))
    .join('');
}

function usageOf(value: unknown): Usage | undefined {
  if (!isPlainObject(value)) return undefined;
  const count = (tokens: unknown): number =>
    Number.isSafeInteger(tokens) && (tokens as number) > 0 ? (tokens as number) : 0;
  return { input_tokens: count(value['prompt_tokens']), output_tokens: count(value['completion_tokens']) };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const fieldsOf = (value: unknown): Fields | undefined => (isPlainObject(value) ? value : undefined);

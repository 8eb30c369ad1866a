// Calls and their results in a conversation: every call is followed by one result, whatever the window cut off
// (DESIGN section 2, law 5). A conversation is mostly in order already, and its sealed pages never change: what is known
// of a page is found once, and each generate looks only where pages meet.
import type { Message, MessageCall } from '../providers/provider.ts';

type ToolMessage = Extract<Message, { readonly role: 'tool' }>;
type AssistantMessage = Extract<Message, { readonly role: 'assistant' }>;

/** Messages in a row, and what is known of how the results among them are paired. */
export interface MessagePage {
  readonly messages: readonly Message[];
  /** Where the first and the last message is that is no result; both -1 when there is none. */
  readonly first: number;
  readonly last: number;
  /** From the first to the last, every result is in its place. What comes before and after may go on elsewhere. */
  readonly sound: boolean;
}

export function pageOf(messages: readonly Message[]): MessagePage {
  const first = messages.findIndex(({ role }) => role !== 'tool');
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  const asked = newAsked();
  let sound = true;
  for (let index = first; sound && index < last; index += 1) sound = asked.take(messages[index] as Message);
  return { messages, first, last, sound: sound && asked.isAnswered() };
}

/** Follows messages as long as each question has its results right behind it, in the order of its calls. */
function newAsked() {
  let calls: readonly MessageCall[] = [];
  let results = 0;
  const isAnswered = (): boolean => results === calls.length;
  return {
    isAnswered,
    /** False when something is missing, or this is not what comes next. */
    take(message: Message): boolean {
      if (message.role === 'tool') {
        results += 1;
        return calls[results - 1]?.id === message.call_id;
      }
      const answered = isAnswered();
      calls = message.role === 'assistant' ? message.calls : [];
      results = 0;
      return answered;
    },
  };
}

/** {@link pairResults} of all pages in a row. */
export function pairPages(pages: readonly MessagePage[]): readonly Message[] {
  const all = ([] as Message[]).concat(...pages.map(({ messages }) => messages));
  if (!isPaired(pages)) return pairResults(all);
  // Results whose question left the window.
  const start = all.findIndex(({ role }) => role !== 'tool');
  return start <= 0 ? all : all.slice(start);
}

/** True when nothing is out of place from the first message on that is no result. */
function isPaired(pages: readonly MessagePage[]): boolean {
  const begin = pages.findIndex(({ first }) => first !== -1);
  if (begin === -1) return false;
  const asked = newAsked();
  const areNext = (messages: readonly Message[]): boolean => messages.every((message) => asked.take(message));
  for (const { messages, first, last, sound } of pages.slice(begin)) {
    const lead = first === -1 ? messages : messages.slice(0, first);
    const isFirst = messages === pages[begin]?.messages;
    if (!sound || (!isFirst && !areNext(lead))) return false;
    if (first !== -1 && !areNext(messages.slice(last))) return false;
  }
  return asked.isAnswered();
}

/** Each assistant message is followed by one result for each of its calls, in call order, and by no other. */
export function pairResults(messages: readonly Message[]): readonly Message[] {
  const paired: Message[] = [];
  for (const [index, message] of messages.entries()) {
    // A result that no call before it asked for lost its question to the window.
    if (message.role === 'tool') continue;
    paired.push(message);
    if (message.role === 'assistant') paired.push(...resultsOf(message, messages, index + 1));
  }
  return paired;
}

function resultsOf(asked: AssistantMessage, messages: readonly Message[], from: number): readonly ToolMessage[] {
  const results = new Map<string, ToolMessage[]>();
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== 'tool') break;
    const known = results.get(message.call_id);
    if (known === undefined) results.set(message.call_id, [message]);
    else known.push(message);
  }
  // Calls may share an id, and then their results do.
  return asked.calls.map(
    ({ id, name }) =>
      results.get(id)?.shift() ?? {
        role: 'tool',
        call_id: id,
        name,
        text: 'error: no result was recorded',
        is_error: true,
      },
  );
}

// Pairs calls with results in a conversation: every call is followed by exactly one result, whatever the window cut off
// (docs/design.md, law 5). A conversation is mostly in order already, and its sealed pages never change: each page is
// examined once, and each generate checks only where pages meet.
import type { Message, MessageCall } from '../providers/provider.ts';
import { hasFiles } from './attached-files.ts';

type ToolMessage = Extract<Message, { readonly role: 'tool' }>;
type AssistantMessage = Extract<Message, { readonly role: 'assistant' }>;

/** Consecutive messages, and whether the results among them are paired. */
export interface MessagePage {
  readonly messages: readonly Message[];
  /** The indexes of the first and the last message that is not a result; both -1 when there is none. */
  readonly first: number;
  readonly last: number;
  /** From `first` to `last`, every result is in its place. What precedes and follows may continue on other pages. */
  readonly paired: boolean;
  /** Every call on the page has its result there, and every result its call: it continues no other page, and none continues it. */
  readonly whole: boolean;
  /** A message of the page has files. */
  readonly hasFiles: boolean;
}

export function messagePageOf(messages: readonly Message[]): MessagePage {
  const first = messages.findIndex(({ role }) => role !== 'tool');
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  const check = newPairingCheck();
  let paired = true;
  for (let index = first; paired && index < last; index += 1) paired = check.accepts(messages[index] as Message);
  paired &&= check.isComplete();
  const whole = first === 0 && paired && messages.slice(last).every((message) => check.accepts(message));
  return { messages, first, last, paired, whole: whole && check.isComplete(), hasFiles: messages.some(hasFiles) };
}

/** Checks, message by message, that an assistant message is followed by the results of its calls, in call order. */
function newPairingCheck() {
  let calls: readonly MessageCall[] = [];
  let results = 0;
  const isComplete = (): boolean => results === calls.length;
  return {
    /** Every call so far has its result. */
    isComplete,
    /** False when a result is missing, or this message is not the expected result. */
    accepts(message: Message): boolean {
      if (message.role === 'tool') {
        results += 1;
        return calls[results - 1]?.id === message.call_id;
      }
      const complete = isComplete();
      calls = message.role === 'assistant' ? message.calls : [];
      results = 0;
      return complete;
    },
  };
}

/** {@link pairResults} over the messages of all pages. */
export function pairPages(pages: readonly MessagePage[]): readonly Message[] {
  const all = ([] as Message[]).concat(...pages.map(({ messages }) => messages));
  if (!isPaired(pages)) return pairResults(all);
  // Results whose calls are no longer in the window are dropped.
  const start = all.findIndex(({ role }) => role !== 'tool');
  return start <= 0 ? all : all.slice(start);
}

/** True when every result is in its place, from the first message that is not a result. */
function isPaired(pages: readonly MessagePage[]): boolean {
  const begin = pages.findIndex(({ first }) => first !== -1);
  if (begin === -1) return false;
  const check = newPairingCheck();
  const areNext = (messages: readonly Message[]): boolean => messages.every((message) => check.accepts(message));
  for (const { messages, first, last, paired, whole } of pages.slice(begin)) {
    if (whole && check.isComplete()) continue;
    const lead = first === -1 ? messages : messages.slice(0, first);
    const isFirst = messages === pages[begin]?.messages;
    if (!paired || (!isFirst && !areNext(lead))) return false;
    if (first !== -1 && !areNext(messages.slice(last))) return false;
  }
  return check.isComplete();
}

/** Follows each assistant message with one result for each of its calls, in call order, and with no other result. */
export function pairResults(messages: readonly Message[]): readonly Message[] {
  const paired: Message[] = [];
  for (const [index, message] of messages.entries()) {
    // Results are added below, after their assistant message; a result whose call left the window is dropped.
    if (message.role === 'tool') continue;
    paired.push(message);
    if (message.role === 'assistant') paired.push(...resultsOf(message, messages, index + 1));
  }
  return paired;
}

function resultsOf(assistant: AssistantMessage, messages: readonly Message[], from: number): readonly ToolMessage[] {
  const results = new Map<string, ToolMessage[]>();
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== 'tool') break;
    const known = results.get(message.call_id);
    if (known === undefined) results.set(message.call_id, [message]);
    else known.push(message);
  }
  // Calls may share an id; then their results share it too.
  return assistant.calls.map(
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

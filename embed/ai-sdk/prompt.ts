// What the SDK sends a model, as the record compares and shows it: without provider metadata, and without ids that are made
// anew for each attempt.
import type { JsonObject } from '../../schemas/index.ts';
import type { LoopResult, PromptMessage } from '../durable/turn.ts';
import type { ContentPart, ModelMessage } from './model-types.ts';
import { storedValue } from './stored-value.ts';

const NOT_COMPARED: ReadonlySet<string> = new Set(['providerOptions', 'providerMetadata', 'approvalId', 'signature']);

/** The messages without what may differ between two sendings of the same prompt. */
export const comparedPrompt = (prompt: readonly ModelMessage[]): readonly PromptMessage[] =>
  prompt.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content.toWellFormed() : storedValue(content.map(comparedPart)),
  }));

function comparedPart(part: ContentPart): unknown {
  const fields = Object.entries(part).filter(([name]) => !NOT_COMPARED.has(name));
  const { output, ...rest } = Object.fromEntries(fields);
  return output === undefined ? rest : { ...rest, output: comparedOutput(output) };
}

const comparedOutput = (output: unknown): unknown => {
  const { providerOptions: _left, ...rest } = output as Record<string, unknown>;
  return rest;
};

/** The same messages with other ids of calls. */
export const promptWithIds = (prompt: readonly ModelMessage[], idOf: (id: string) => string): readonly ModelMessage[] =>
  prompt.map((message) => {
    const { content } = message;
    return typeof content === 'string' ? message : { ...message, content: content.map((part) => withId(part, idOf)) };
  });

const withId = (part: ContentPart, idOf: (id: string) => string): ContentPart =>
  typeof part['toolCallId'] === 'string' ? { ...part, toolCallId: idOf(part['toolCallId']) } : part;

/** The text of the last message of the user: what people see as the input of the run. */
export function inputOf(prompt: readonly ModelMessage[]): string {
  const last = prompt.findLast(({ role }) => role === 'user');
  return last === undefined ? '' : textOf(last.content);
}

/** The system prompt; null without one. */
export function instructionsOf(prompt: readonly ModelMessage[]): string | null {
  const texts = prompt.filter(({ role }) => role === 'system').map(({ content }) => textOf(content));
  return texts.length === 0 ? null : texts.join('\n\n');
}

const textOf = (content: ModelMessage['content']): string =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? String(part['text']) : `[${part.type}]`)).join('\n');

/** The results in the prompt, by the id of the call. */
export function resultsIn(prompt: readonly ModelMessage[]): ReadonlyMap<string, LoopResult> {
  const results = new Map<string, LoopResult>();
  for (const { role, content } of prompt) {
    if (role !== 'tool' || typeof content === 'string') continue;
    for (const { type, toolCallId, output } of content) {
      if (type === 'tool-result') results.set(String(toolCallId), resultOf(output as JsonObject));
    }
  }
  return results;
}

function resultOf({ type, value, reason }: JsonObject): LoopResult {
  const success = type === 'text' || type === 'json' || type === 'content';
  const told = type === 'execution-denied' ? (reason ?? 'The call was denied.') : value;
  return { success, text: (typeof told === 'string' ? told : JSON.stringify(storedValue(told))).toWellFormed() };
}

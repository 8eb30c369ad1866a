// Prompts of the framework as the core compares them: without ids, times and what a provider added.
import type { Json } from '../../schemas/index.ts';
import type { LoopResult, PromptMessage } from '../durable/turn.ts';
import type { AgentsItem, AgentsRequest } from './sdk.ts';

export interface ReadPrompt {
  readonly prompt: readonly PromptMessage[];
  readonly input: string;
  readonly instructions: string | null;
  /** Every result of a call in the prompt, by the id of the call. */
  readonly results: ReadonlyMap<string, LoopResult>;
}

export function readAgentsPrompt({
  systemInstructions = '',
  input,
}: Pick<AgentsRequest, 'systemInstructions' | 'input'>): ReadPrompt {
  const items: readonly Fields[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly Fields[]);
  const prompt = items.map(({ role, type, ...item }) => ({ role: wordOf(role ?? type), content: plain(item) }));
  const system = systemInstructions === '' ? [] : [{ role: 'system', content: systemInstructions }];
  const results = items.filter(({ type }) => type === 'function_call_result');
  return {
    prompt: [...system, ...prompt],
    input: textOf(items.findLast(({ role }) => role === 'user')?.['content']),
    instructions: systemInstructions === '' ? null : systemInstructions,
    results: new Map(results.map(({ callId, output }) => [wordOf(callId), { text: textOf(output), success: true }])),
  };
}

/** The same input with other ids of calls. */
export const agentsInputWithIds = (
  input: AgentsRequest['input'],
  idOf: (id: string) => string,
): AgentsRequest['input'] =>
  typeof input === 'string'
    ? input
    : (input as readonly Fields[]).map((item) =>
        typeof item['callId'] === 'string' ? { ...item, callId: idOf(item['callId']) } : item,
      );

type Fields = AgentsItem & Readonly<Record<string, unknown>>;

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What the same program writes in each run of it. */
const CHANGING = new Set(['id', 'status', 'providerData']);

/** As JSON; bytes are Base64. A list of one text is that text, because the framework writes either. */
function plain(item: object): Json {
  const text = JSON.stringify(item, (key, value: unknown) => {
    if (CHANGING.has(key)) return undefined;
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
    return isOneText(value) ? value[0].text : value;
  });
  return JSON.parse(text) as Json;
}

const TEXT_TYPES = new Set<unknown>(['text', 'input_text', 'output_text']);

const isTextEntry = (entry: unknown): entry is { readonly text: string } =>
  typeof entry === 'object' && entry !== null && 'type' in entry && TEXT_TYPES.has(entry.type) && 'text' in entry;

const isOneText = (value: unknown): value is readonly [{ readonly text: string }] =>
  Array.isArray(value) && value.length === 1 && isTextEntry(value[0]);

/** The texts of a content or of an output, which may be a text, an entry or a list of entries. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const entries: readonly unknown[] = Array.isArray(content) ? content : [content];
  return entries.map((entry) => (isTextEntry(entry) ? entry.text : '')).join('');
}

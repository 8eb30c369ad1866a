// Recorded traffic of generateContent and streamGenerateContent against the dialect, and against a second reader that shares
// no line with it: it looks at all chunks at once, as plain values, and asks each question separately.
import { isDeepStrictEqual } from 'node:util';
import { createParser } from 'eventsource-parser';
import { parseExact } from '../../../bridge/providers/api/exact-json.ts';
import { gemini } from '../../../bridge/providers/gemini/dialect.ts';
import {
  type AssistantMessage,
  type GenerateReply,
  type GenerateRequest,
  ProviderError,
} from '../../../bridge/providers/provider.ts';
import { brand } from '../../../schemas/ids.ts';
import type { Recording, RecordingCheck } from '../recording.ts';
import { runSteps } from '../../../src/core/steps.ts';

export const geminiCheck: RecordingCheck = {
  dialect: gemini,
  faultsOf(recording) {
    const faults: string[] = [];
    checkTurn(recording, (fault) => void faults.push(fault));
    return faults;
  },
};

type Fault = (what: string) => void;
type Part = Readonly<Record<string, unknown>>;
interface Chunk {
  readonly candidates?: readonly Candidate[];
  readonly usageMetadata?: Readonly<Record<string, number>>;
  readonly promptFeedback?: { readonly blockReason?: unknown };
  readonly modelVersion?: string;
}
interface Candidate {
  readonly content?: { readonly parts?: readonly Part[] };
  readonly finishReason?: unknown;
}

function checkTurn({ response, response_text = null }: Recording, fault: Fault): void {
  const chunks: readonly Chunk[] =
    response_text !== null
      ? eventsIn(response_text)
      : Array.isArray(response)
        ? (response as Chunk[])
        : [response as Chunk];
  const streamed = response_text !== null || Array.isArray(response);
  const reply =
    response_text !== null
      ? replyOfSse(response_text, 4_096)
      : runSteps(gemini.read(parseExact(JSON.stringify(response))));
  if (reply === null) throw new ProviderError('provider_retryable', 'the stream has no end marker');

  same('text', reply.content ?? '', naiveText(chunks), fault);
  same('calls', reply.calls.map(plainCall), naiveCalls(chunks), fault);
  same('stop', reply.stop, naiveStop(chunks), fault);
  same('usage', reply.usage, naiveUsage(chunks), fault);
  same('the message that goes back', messageBack(reply, modelOf(chunks)), naiveMessage(chunks), fault);

  const text = streamed ? sseOf(chunks) : sseOf(splitUp(chunks[0] as Chunk));
  if (naiveStop(chunks) === undefined) return;
  for (const size of [1, 7, 61]) same(`a stream in slices of ${size} bytes`, replyOfSse(text, size), reply, fault);
  if (replyOfSse(text.slice(0, text.lastIndexOf('data:')), 61) !== null) fault('half a stream made a turn');
}

function same(what: string, actual: unknown, expected: unknown, fault: Fault): void {
  if (isDeepStrictEqual(actual, expected)) return;
  fault(`${what}: ${JSON.stringify(actual)?.slice(0, 400)}, but expected ${JSON.stringify(expected)?.slice(0, 400)}`);
}

/** Decodes server-sent events that arrive in slices of so many bytes; null when no turn comes of it. */
function replyOfSse(text: string, size: number): GenerateReply | null {
  const fold = gemini.newFold();
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: ({ event, data }) => void fold.add({ name: event ?? null, data }) });
  const bytes = new TextEncoder().encode(text);
  for (let start = 0; start < bytes.length; start += size) {
    parser.feed(decoder.decode(bytes.subarray(start, start + size), { stream: true }));
  }
  parser.feed('\n\n');
  const final = runSteps(fold.final());
  return final === null ? null : runSteps(gemini.read(final));
}

const sseOf = (chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');

const eventsIn = (text: string): readonly Chunk[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data:') && !line.includes('[DONE]'))
    .map((line) => JSON.parse(line.slice(5)) as Chunk);

/** A plain body as a stream: a part or a piece of a text in each event, and everything else in the last one. */
function splitUp(body: Chunk): readonly Chunk[] {
  const [candidate, ...others] = body.candidates ?? [];
  if (candidate === undefined) return [body];
  const { content, ...rest } = candidate;
  const first = (content?.parts ?? []).flatMap(pieces).map((part) => ({
    candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }],
    ...(body.modelVersion === undefined ? {} : { modelVersion: body.modelVersion }),
  }));
  return [...first, { ...body, candidates: [rest, ...others] }];
}

const pieces = (part: Part): readonly Part[] =>
  Object.keys(part).join() === 'text' ? [...textIn(part).matchAll(/[^]{1,9}/gu)].map(([text]) => ({ text })) : [part];

const textIn = (part: Part): string => String(part['text']);
const candidates = (chunks: readonly Chunk[]): readonly Candidate[] =>
  chunks.flatMap((chunk) => chunk.candidates ?? []);
const allParts = (chunks: readonly Chunk[]): readonly Part[] =>
  candidates(chunks).flatMap((candidate) => candidate.content?.parts ?? []);
const modelOf = (chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => chunk.modelVersion).find((model) => model !== undefined) ?? 'gemini';

const naiveText = (chunks: readonly Chunk[]): string =>
  allParts(chunks)
    .filter((part) => 'text' in part && !part['thought'])
    .map(textIn)
    .join('');

const naiveCalls = (chunks: readonly Chunk[]): readonly unknown[] =>
  allParts(chunks)
    .filter((part) => 'functionCall' in part)
    .map((part) => part['functionCall'] as { readonly id?: string; readonly name?: string; readonly args?: unknown })
    .map(({ id, name, args }) => ({ id, name, args: args ?? {} }));

const plainCall = ({ id, name, arguments: args, arguments_text }: GenerateReply['calls'][number]): unknown => ({
  id,
  name,
  args: arguments_text === undefined ? args : JSON.parse(arguments_text),
});

function naiveStop(chunks: readonly Chunk[]): unknown {
  const finish = candidates(chunks)
    .map((candidate) => candidate.finishReason)
    .findLast(Boolean);
  const block = chunks.map((chunk) => chunk.promptFeedback?.blockReason).findLast(Boolean);
  if (!finish && !block) return undefined;
  const word = String(finish || block);
  if (!finish) return { reason: 'filtered', word };
  if (/^(STOP|1)$/i.test(word)) return { reason: naiveCalls(chunks).length > 0 ? 'calls' : 'end', word };
  if (/^(MAX_TOKENS|2)$/i.test(word)) return { reason: 'length', word };
  if (/SAFETY|RECITATION|BLOCKLIST|PROHIBITED|SPII|ARMOR/i.test(word)) return { reason: 'filtered', word };
  return { reason: 'other', word };
}

function naiveUsage(chunks: readonly Chunk[]): unknown {
  const stated = chunks.map((chunk) => chunk.usageMetadata).filter((counts) => counts !== undefined);
  if (stated.length === 0) return undefined;
  const count = (name: string): number =>
    stated.map((counts) => counts[name]).findLast((value) => value !== undefined) ?? 0;
  const usage: Record<string, number> = {
    input_tokens: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    output_tokens: count('candidatesTokenCount') + count('thoughtsTokenCount'),
  };
  if (count('cachedContentTokenCount')) usage['cached_tokens'] = count('cachedContentTokenCount');
  if (count('thoughtsTokenCount')) usage['reasoning_tokens'] = count('thoughtsTokenCount');
  return usage;
}

/** The turn as a request that follows it holds it; undefined when it holds none. */
function messageBack({ content = '', calls, layout }: GenerateReply, model: string): unknown {
  const message: AssistantMessage = {
    role: 'assistant',
    text: content,
    calls: calls.map(({ id, name, arguments: args, arguments_text }, index) => ({
      id: id ?? `call-1-${index}`,
      name,
      arguments: arguments_text ?? JSON.stringify(args),
    })),
    ...(layout === undefined ? {} : { layout }),
  };
  const request: GenerateRequest = {
    session_id: brand<'SessionId'>('s'),
    run_id: brand<'RunId'>('r'),
    turn: 2,
    provider: 'gemini',
    model,
    instructions: null,
    output_tokens_max: null,
    tools: [],
    messages: [{ role: 'user', text: 'Go on.' }, message],
  };
  const { body } = gemini.encode(request, { model, baseUrl: 'https://example.org/v1beta', stream: true });
  const parts = (JSON.parse(body) as { readonly contents: readonly { readonly parts: readonly Part[] }[] }).contents[1]
    ?.parts;
  return parts?.map((part) =>
    Object.fromEntries(Object.entries(part).filter(([, value]) => value !== 'skip_thought_signature_validator')),
  );
}

/**
 * What the model wrote, but for what the README documents: neighbouring texts without further fields are one, an empty one is
 * none, and a call without `args` has `{}`.
 */
function naiveMessage(chunks: readonly Chunk[]): unknown {
  const parts: Part[] = [];
  for (const part of allParts(chunks)) {
    const last = parts.at(-1);
    const kind = (each: Part): string => Object.keys(each).sort().join();
    const joins = kind(part) === 'text' || (chunks.length > 1 && kind(part) === 'text,thought');
    if (joins && last !== undefined && kind(last) === kind(part)) {
      parts[parts.length - 1] = { ...last, text: textIn(last) + textIn(part) };
    } else if ('functionCall' in part) {
      parts.push({ ...part, functionCall: { args: {}, ...(part['functionCall'] as object) } });
    } else if (kind(part) !== 'text' || part['text'] !== '') parts.push(part);
  }
  return parts.length === 0 ? undefined : parts;
}

// Recorded traffic of the Messages API through its dialect, next to a second reader that is as plain as can be.
import { isDeepStrictEqual } from 'node:util';
import { createParser } from 'eventsource-parser';
import type { Dialect, StreamEvent } from '../../../bridge/providers/api/dialect.ts';
import { type ExactJson, exactText, parseExact } from '../../../bridge/providers/api/exact-json.ts';
import { anthropicMessages } from '../../../bridge/providers/anthropic/dialect.ts';
import {
  type AssistantMessage,
  type GenerateReply,
  type GenerateRequest,
  type Message,
  type MessageCall,
  ProviderError,
} from '../../../bridge/providers/provider.ts';
import { brand } from '../../../schemas/ids.ts';
import { type RecordingCheck, bodyText } from '../recording.ts';
import { runSteps } from '../../../src/core/steps.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- the second reader trusts what it reads.
type Any = any;

/** The Messages API itself, or Vertex AI's form of it. */
export const anthropicCheck = (dialect: Dialect = anthropicMessages): RecordingCheck => ({
  dialect,
  faultsOf: (recording) =>
    typeof recording.response_text === 'string'
      ? checkStream(recording.response_text, dialect)
      : checkBody(bodyText(recording), dialect),
});

/** What must hold of a recorded stream. */
function checkStream(text: string, dialect: Dialect): readonly string[] {
  const final = foldAll(dialect, eventsOf([Buffer.from(text)]));
  if (final === null) throw new ProviderError('provider_retryable', 'the stream has no end marker');
  return [...checkTurn(final, naiveStream(text), dialect), ...checkSlices(text, final, dialect)];
}

/** What must hold of a recorded body, and of the stream that would have said the same. */
function checkBody(text: string, dialect: Dialect): readonly string[] {
  const final = parseExact(text);
  const faults = checkTurn(final, JSON.parse(text), dialect);
  const stream = streamOf(JSON.parse(text));
  const folded = foldAll(dialect, eventsOf([Buffer.from(stream)]));
  const same = folded !== null && isDeepStrictEqual(runSteps(dialect.read(folded)), runSteps(dialect.read(final)));
  return [...faults, ...(same ? [] : ['its stream decodes to another turn']), ...checkSlices(stream, folded, dialect)];
}

function checkTurn(final: ExactJson, body: Any, dialect: Dialect): readonly string[] {
  const reply = runSteps(dialect.read(final));
  const seen = naiveReading(body);
  const faults: string[] = [];
  if (!isDeepStrictEqual(readingOf(reply), seen)) {
    faults.push(`read ${JSON.stringify(readingOf(reply))}, and the second reader ${JSON.stringify(seen)}`);
  }
  const wanted = wireContent(body.content);
  const own = assistantContent(reply, body.model ?? 'unnamed', dialect);
  if (!isDeepStrictEqual(own, wanted)) faults.push(`sent back as ${JSON.stringify(own)}`);
  const other = assistantContent(reply, 'another-model', dialect);
  const kept = body.content.filter(({ type }: Any) => type === 'text' || type === 'tool_use');
  if (plainOf(other) !== plainOf(kept)) faults.push(`sent to another model as ${JSON.stringify(other)}`);
  return faults;
}

/** The same turn from pieces of one byte; no turn from a stream that was cut anywhere before its end marker. */
function checkSlices(text: string, whole: ExactJson, dialect: Dialect): readonly string[] {
  const bytes = Buffer.from(text);
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  const faults = isDeepStrictEqual(foldAll(dialect, eventsOf(single)), whole) ? [] : ['sliced, it is another message'];
  const events = eventsOf([bytes]);
  for (let end = 0; end < events.length - 1; end += 1) {
    if (foldAll(dialect, events.slice(0, end)) !== null) faults.push(`a turn from the first ${end} events`);
  }
  return faults;
}

function eventsOf(pieces: readonly Uint8Array[]): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => void events.push({ name: event ?? null, data }) });
  const decoder = new TextDecoder();
  for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
  return events;
}

function foldAll(dialect: Dialect, events: readonly StreamEvent[]): ExactJson {
  const fold = dialect.newFold();
  for (const event of events) fold.add(event);
  return runSteps(fold.final());
}

/** The message of a stream, read without any of the dialect's ideas. */
function naiveStream(text: string): Any {
  const message: Any = {};
  for (const line of text.split('\n').filter((each) => each.startsWith('data:'))) {
    const event = JSON.parse(line.slice(5));
    const block = message.content?.[event.index];
    if (event.type === 'message_start') Object.assign(message, event.message);
    if (event.type === 'content_block_start') message.content[event.index] = event.content_block;
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta);
      Object.assign(message.usage, event.usage);
    }
    if (event.type === 'content_block_stop' && block.json) block.input = JSON.parse(block.json);
    if (event.type === 'content_block_stop') delete block.json;
    if (event.type === 'content_block_delta') naiveDelta(block, event.delta);
  }
  return message;
}

function naiveDelta(block: Any, delta: Any): void {
  if (delta.type === 'text_delta') block.text += delta.text;
  if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
  if (delta.type === 'signature_delta') block.signature += delta.signature;
  if (delta.type === 'citations_delta') (block.citations ??= []).push(delta.citation);
  if (delta.type === 'compaction_delta') block.content = (block.content ?? '') + delta.content;
  if (delta.type === 'input_json_delta') block.json = (block.json ?? '') + delta.partial_json;
}

const STOPS: Readonly<Record<string, string>> = {
  end_turn: 'end',
  stop_sequence: 'end',
  tool_use: 'calls',
  max_tokens: 'length',
  refusal: 'refusal',
  pause_turn: 'paused',
};

function naiveReading({ content, stop_reason, usage }: Any): Any {
  return {
    text: content.reduce((text: string, block: Any) => (block.type === 'text' ? text + block.text : text), ''),
    calls: content
      .filter((block: Any) => block.type === 'tool_use')
      .map(({ id, name, input }: Any) => ({ id, name, input })),
    // A message with calls waits for their results, whatever it says.
    stop:
      stop_reason === 'end_turn' && content.some(({ type }: Any) => type === 'tool_use') ? 'calls' : STOPS[stop_reason],
    word: stop_reason,
    input: usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0),
    output: usage.output_tokens,
    cached: usage.cache_read_input_tokens ?? 0,
    thought: usage.output_tokens_details?.thinking_tokens ?? 0,
  };
}

const readingOf = ({ content = '', calls, stop, usage }: GenerateReply): Any => ({
  text: content,
  calls: calls.map(({ id, name, arguments: input, arguments_text }) => ({
    id,
    name,
    input: input ?? JSON.parse(arguments_text ?? 'null'),
  })),
  stop: stop?.reason,
  word: stop?.word,
  input: usage?.input_tokens,
  output: usage?.output_tokens,
  cached: usage?.cached_tokens ?? 0,
  thought: usage?.reasoning_tokens ?? 0,
});

/** The recorded blocks but for those that the API takes back nowhere: blank texts, and thinking at the end. */
function wireContent(content: readonly Any[]): readonly Any[] {
  const kept = content.filter(({ type, text }) => type !== 'text' || text.trim() !== '');
  while (kept.at(-1)?.type.endsWith('thinking')) kept.pop();
  return kept;
}

const plainOf = (blocks: readonly Any[]): string =>
  JSON.stringify([
    blocks.map(({ text = '' }) => text as string).join(''),
    blocks.flatMap(({ type, name, input }) => (type === 'tool_use' ? [[name, input]] : [])),
  ]);

/** The blocks of the reply in the next request to a model. */
function assistantContent(reply: GenerateReply, model: string, dialect: Dialect): readonly Any[] {
  const calls = reply.calls.map(({ id = 'none', name, ...call }): MessageCall => ({
    id,
    name,
    arguments: call.arguments_text ?? JSON.stringify(call.arguments),
  }));
  const turn: AssistantMessage = {
    role: 'assistant',
    text: reply.content ?? '',
    calls,
    ...(reply.layout === undefined ? {} : { layout: reply.layout }),
  };
  const results = calls.map(({ id, name }): Message => ({
    role: 'tool',
    call_id: id,
    name,
    text: 'done',
    is_error: false,
  }));
  const request = requestOf([{ role: 'user', text: 'go' }, ...turnBefore(reply), turn, ...results]);
  const { body } = dialect.encode(request, { model, baseUrl: 'http://localhost', stream: false });
  const { messages } = JSON.parse(body);
  return messages.findLast(({ role }: Any) => role === 'assistant')?.content ?? [];
}

/** A turn that began the work of servers whose results the reply holds: without it they would go back nowhere. */
function turnBefore({ layout }: GenerateReply): readonly Message[] {
  const items: readonly Any[] = (layout?.parts ?? []).flatMap((part) =>
    'item' in part ? [JSON.parse(part.item)] : [],
  );
  const begun = new Set(items.map(({ id }) => id));
  const before = items.flatMap(({ tool_use_id: id }) => (id === undefined || begun.has(id) ? [] : [id]));
  if (layout === undefined || before.length === 0) return [];
  const uses = before.map((id: string) => ({
    item: JSON.stringify({ type: 'server_tool_use', id, name: 'any', input: {} }),
  }));
  const call = { id: 'before', name: 'before', arguments: '{}' };
  return [
    { role: 'assistant', text: '', calls: [call], layout: { ...layout, parts: [...uses, { call: 0 }] } },
    { role: 'tool', call_id: call.id, name: call.name, text: 'done', is_error: false },
  ];
}

/** A request that lets the model think, so that its thinking goes back. */
export const requestOf = (messages: readonly Message[]): GenerateRequest => ({
  session_id: brand<'SessionId'>('s'),
  run_id: brand<'RunId'>('r'),
  turn: 1,
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  instructions: null,
  output_tokens_max: null,
  tools: [],
  messages,
  reasoning: { effort: 'low' },
});

/** The stream that says the same as a body: blocks in turn, texts in pieces of seven units. */
export function streamOf({ content, usage, stop_reason, stop_sequence, ...message }: Any): string {
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  const events: Any[] = [{ type: 'message_start', message: start }, { type: 'ping' }];
  for (const [index, block] of (content as readonly Any[]).entries()) {
    const { begin, deltas } = piecesOf(block);
    events.push({ type: 'content_block_start', index, content_block: begin });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  }
  events.push({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage });
  events.push({ type: 'message_stop' });
  return events.map((event) => `event: ${event.type}\ndata: ${exactText(event as ExactJson)}\n\n`).join('');
}

function piecesOf(block: Any): { readonly begin: Any; readonly deltas: readonly Any[] } {
  const cut = (text: string): readonly string[] => text.match(/[^]{1,7}/g) ?? [];
  if (block.type === 'text') {
    const citations = (block.citations ?? []).map((citation: Any) => ({ type: 'citations_delta', citation }));
    const begin = { ...block, text: '', ...(block.citations ? { citations: [] } : {}) };
    return { begin, deltas: [...citations, ...cut(block.text).map((text) => ({ type: 'text_delta', text }))] };
  }
  if (block.type === 'thinking') {
    const thoughts = cut(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }));
    const begin = { ...block, thinking: '', signature: '' };
    return { begin, deltas: [...thoughts, { type: 'signature_delta', signature: block.signature }] };
  }
  if (block.input === undefined) return { begin: block, deltas: [] };
  const written = cut(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  return { begin: { ...block, input: {} }, deltas: written };
}

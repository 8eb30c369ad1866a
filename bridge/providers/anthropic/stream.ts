// Folds the events of a Messages stream into the message that the API returns without one.
import {
  type ExactJson,
  type ExactObject,
  type FilledObject,
  isExactObject,
  listIn,
  objectIn,
  setFields,
  textIn,
} from '../api/exact-json.ts';
import type { Steps } from '../../../src/core/steps.ts';
import { type StreamEvent, type StreamFold, endsStep, parseEvent } from '../api/dialect.ts';
import { parseSteps } from '../api/long-json.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { messagesError } from './failure.ts';

/** A block of content that is being assembled. */
interface Block {
  readonly start: ExactObject;
  /** What deltas appended to its text fields, joined at the end. */
  readonly texts: Map<string, string[]>;
  /** What deltas appended to its lists. */
  readonly lists: Map<string, ExactJson[]>;
  /** What deltas set. */
  readonly values: Map<string, ExactJson>;
  /** The pieces of `input`, as the model wrote them. */
  readonly input: string[];
}

interface Message {
  /** The fields of `message_start` and, over them, those of each `message_delta`; null before it has begun. */
  fields: FilledObject | null;
  usage: FilledObject | null;
  readonly blocks: Map<number, Block>;
  closed: boolean;
}

export function newMessageFold(): StreamFold {
  const message: Message = { fields: null, usage: null, blocks: new Map(), closed: false };
  return {
    add: (event) => (message.closed ? [] : addEvent(message, event)),
    isClosed: () => message.closed,
    *final() {
      return message.closed && message.fields !== null ? yield* finalOf(message, message.fields) : null;
    },
  };
}

function addEvent(message: Message, source: StreamEvent): readonly ReplyDelta[] {
  const { name } = source;
  const text = source.data.trim();
  // Some gateways end every stream in the way of another API; only `message_stop` ends a message.
  if (text === '' || text === '[DONE]') return [];
  if (name === 'ping' || name === 'content_block_stop') return [];
  const event = parsed(source.json === undefined ? { name, data: text } : source);
  const delta = event['type'] === 'content_block_delta' ? event['delta'] : undefined;
  const known = isExactObject(delta) ? TEXT_DELTAS.get(delta['type'] as string) : undefined;
  if (known !== undefined) return addText(blockAt(message, event), known, delta as ExactObject);
  return addRare(message, textIn(event['type']) || (name ?? ''), event);
}

/** The kinds of deltas that append to one text field: the field of the delta, and that of the block. */
const TEXT_DELTAS: ReadonlyMap<string, { readonly from: string; readonly shown?: ReplyDelta['kind'] }> = new Map([
  ['text_delta', { from: 'text', shown: 'text' }],
  ['thinking_delta', { from: 'thinking', shown: 'thinking' }],
  ['signature_delta', { from: 'signature' }],
  ['input_json_delta', { from: 'partial_json' }],
]);

function parsed(source: StreamEvent): ExactObject {
  let value: ExactJson = null;
  try {
    value = parseEvent(source);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    // Reported below.
  }
  if (isExactObject(value)) return value;
  throw new ProviderError('provider_retryable', 'an event of the stream is not a JSON object');
}

function addRare(message: Message, kind: string, event: ExactObject): readonly ReplyDelta[] {
  switch (kind) {
    case 'message_start':
      startMessage(message, event['message']);
      return NONE;
    case 'content_block_start':
      return startBlock(message, event);
    case 'content_block_delta':
      return addDelta(message, event);
    case 'message_delta':
      addMessageDelta(message, event);
      return [];
    case 'message_stop':
      message.closed = true;
      return [];
    case 'error':
      throw messagesError(event, null);
    // The API adds kinds of events; what they would change comes in the kinds above.
    default:
      return [];
  }
}

function startMessage(message: Message, start: ExactJson | undefined): void {
  if (!isExactObject(start)) throw broken('/message', 'must be an object');
  // Some gateways send the beginning twice. Another message means that a gateway has tried again: what it read before is lost.
  const again = message.fields !== null && message.blocks.size === 0 && message.fields['id'] === start['id'];
  if (message.fields !== null && !again) throw broken('/message', 'a second message begins');
  message.fields = { ...start };
  message.usage = isExactObject(start['usage']) ? { ...start['usage'] } : null;
}

function startBlock(message: Message, event: ExactObject): readonly ReplyDelta[] {
  const { index, content_block: start } = event;
  if (message.fields === null) throw broken('/type', 'a block begins before its message');
  if (typeof index !== 'number') throw broken('/index', 'must be a number');
  if (message.blocks.has(index)) throw broken('/index', `block ${index} begins twice`);
  if (!isExactObject(start)) throw broken('/content_block', 'must be an object');
  message.blocks.set(index, { start, texts: new Map(), lists: new Map(), values: new Map(), input: [] });
  return [...shown('text', textIn(start['text'])), ...shown('thinking', textIn(start['thinking']))];
}

// Without the block, arguments might be JSON, but not what the model wrote.
function blockAt({ blocks }: Message, { index }: ExactObject): Block {
  const block = typeof index === 'number' ? blocks.get(index) : undefined;
  if (block === undefined) throw broken('/index', 'names a block that has not begun');
  return block;
}

function addText(
  block: Block,
  { from, shown: kind }: { readonly from: string; readonly shown?: ReplyDelta['kind'] },
  delta: ExactObject,
): readonly ReplyDelta[] {
  const piece = delta[from];
  if (typeof piece !== 'string') throw broken(`/delta/${from}`, 'must be text');
  if (from === 'partial_json') block.input.push(piece);
  else append(block.texts, from, piece);
  return kind === undefined ? [] : shown(kind, piece);
}

const NONE: readonly ReplyDelta[] = [];
const shown = (kind: ReplyDelta['kind'], text: string): readonly ReplyDelta[] =>
  text === '' ? NONE : [{ kind, text }];

/**
 * A delta of another kind. A citation joins the list of citations; in kinds that are unknown, each field extends the field
 * of the same name: texts and lists are appended, any other value replaces.
 */
function addDelta(message: Message, event: ExactObject): readonly ReplyDelta[] {
  const block = blockAt(message, event);
  const { type, ...fields } = objectIn(event['delta']);
  if (type === 'citations_delta') {
    if (fields['citation'] !== undefined) append(block.lists, 'citations', fields['citation']);
    return [];
  }
  for (const [key, value] of Object.entries(fields)) {
    if (typeof value === 'string') append(block.texts, key, value);
    else if (Array.isArray(value)) for (const entry of listIn(value)) append(block.lists, key, entry);
    else if (value !== null) block.values.set(key, value);
  }
  return [];
}

function append<V>(into: Map<string, V[]>, key: string, value: V): void {
  const known = into.get(key);
  if (known === undefined) into.set(key, [value]);
  else known.push(value);
}

// The counts of `usage` are totals so far; those that an event leaves out stay.
function addMessageDelta(message: Message, event: ExactObject): void {
  if (message.fields === null) throw broken('/type', 'a delta comes before its message');
  const { type: _type, delta, usage, ...others } = event;
  setFields(message.fields, others);
  setFields(message.fields, objectIn(delta));
  if (!isExactObject(usage)) return;
  const counted = Object.entries(usage).filter(([, count]) => count !== null);
  setFields((message.usage ??= {}), Object.fromEntries(counted));
}

function* finalOf({ usage, blocks }: Message, fields: ExactObject): Steps<ExactObject> {
  const content: ExactJson[] = [];
  for (const [, block] of [...blocks].sort(([a], [b]) => a - b)) {
    content.push(yield* finalBlock(block));
    if (endsStep(content.length)) yield;
  }
  return { ...fields, content, ...(usage === null ? {} : { usage }) };
}

function* finalBlock({ start, texts, lists, values, input }: Block): Steps<ExactObject> {
  const fields: Record<string, ExactJson> = { ...start };
  for (const [key, value] of values) fields[key] = value;
  for (const [key, pieces] of texts) fields[key] = textIn(start[key]) + pieces.join('');
  for (const [key, entries] of lists) fields[key] = [...listIn(start[key]), ...entries];
  const written = input.join('');
  if (written.trim() !== '') fields['input'] = yield* inputOf(written);
  return fields;
}

/** The object that the model wrote; the text itself when it wrote none, so that the engine can tell the model. */
function* inputOf(written: string): Steps<ExactJson> {
  try {
    const value = yield* parseSteps(written, { refuse: () => undefined });
    return isExactObject(value) ? value : written;
  } catch {
    return written;
  }
}

const broken = (path: string, fault: string): ProviderError =>
  new ProviderError('provider_retryable', `an event of the stream cannot be read: at "${path}": ${fault}`);

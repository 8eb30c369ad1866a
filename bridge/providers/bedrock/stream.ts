// Folds the events of ConverseStream into the answer of Converse.
//
// `messageStop` is the end marker. `metadata` (usage) comes after it, or before it from some models: with both, nothing that
// follows matters. A stream that ends after `messageStop` alone is a turn without usage; an exception before both are there
// fails the attempt.
import type { Steps } from '../../../src/core/steps.ts';
import { type StreamEvent, type StreamFold, endsStep, parseEvent } from '../api/dialect.ts';
import { type ExactJson, type ExactObject, isExactObject, listIn, objectIn } from '../api/exact-json.ts';
import { parseSteps } from '../api/long-json.ts';
import { ProviderError, type ReplyDelta } from '../provider.ts';
import { converseFault, oddAnswer } from './errors.ts';
import { withoutFields } from './without-fields.ts';

export function newConverseFold(): StreamFold {
  const blocks: Block[] = [];
  const open = new Map<number, Block>();
  let role: ExactJson = 'assistant';
  let stop: ExactObject | null = null;
  let metadata: ExactObject | null = null;

  const begin = (index: number): Block => {
    const block = newBlock(index);
    blocks.push(block);
    open.set(index, block);
    return block;
  };

  const handlers = eventTable({
    messageStart(data) {
      role = data['role'] ?? role;
      return [];
    },
    contentBlockStart(data) {
      const block = begin(indexIn('contentBlockStart', data));
      for (const [kind, value] of Object.entries(objectIn(data['start']))) startBlock(block, kind, value);
      return [];
    },
    contentBlockDelta(data) {
      const index = indexIn('contentBlockDelta', data);
      const delta = data['delta'];
      if (!isExactObject(delta)) throw oddAnswer('contentBlockDelta.delta', 'an object');
      const said: ReplyDelta[] = [];
      for (const kind in delta) {
        let block = open.get(index);
        if (block === undefined || !takes(block, kind)) block = begin(index);
        const reply = addDelta(block, kind, delta[kind] ?? null);
        if (reply !== null && reply.text !== '') said.push(reply);
      }
      return said;
    },
    contentBlockStop(data) {
      open.delete(indexIn('contentBlockStop', data));
      return [];
    },
    messageStop(data) {
      stop = data;
      return [];
    },
    metadata(data) {
      metadata = data;
      return [];
    },
  });

  return {
    add(event) {
      const { name } = event;
      const handler = handlers.get(name ?? '');
      if (handler === undefined) {
        throwIfFault(event);
        return [];
      }
      const value = valueOf(event);
      if (!isExactObject(value)) throw oddAnswer(name ?? '', 'a JSON object');
      return handler(value);
    },
    isClosed: () => stop !== null && metadata !== null,
    *final() {
      if (stop === null) return null;
      const content = yield* blocksOf(blocks);
      return { ...withoutPadding(metadata), output: { message: { role, content } }, ...withoutPadding(stop) };
    },
  };
}

function* blocksOf(blocks: readonly Block[]): Steps<readonly ExactJson[]> {
  const content: ExactJson[] = [];
  // Stable: blocks with the same index stay in the order in which they began.
  for (const block of blocks.toSorted((a, b) => a.index - b.index)) {
    content.push(yield* blockOf(block));
    if (endsStep(content.length)) yield;
  }
  return content;
}

type Handler = (data: ExactObject) => readonly ReplyDelta[];

const eventTable = (handlers: Readonly<Record<string, Handler>>): ReadonlyMap<string, Handler> =>
  new Map(Object.entries(handlers));

/** A block of content that is being received. */
interface Block {
  readonly index: number;
  /** The kind of its deltas; null before the first. */
  kind: string | null;
  readonly texts: string[];
  readonly signatures: string[];
  readonly redacted: string[];
  readonly values: ExactJson[];
  /** What the start of the block said. */
  head: ExactObject;
}

const newBlock = (index: number): Block => ({
  index,
  kind: null,
  texts: [],
  signatures: [],
  redacted: [],
  values: [],
  head: {},
});

function startBlock(block: Block, kind: string, value: ExactJson): void {
  block.kind = kind;
  if (kind === 'text' && typeof value === 'string') block.texts.push(value);
  else block.head = objectIn(value);
}

/** A text may be followed by its citations; any other kind begins a block of its own. */
const takes = (block: Block, kind: string): boolean =>
  block.kind === null ||
  block.kind === kind ||
  (block.kind === 'text' && kind === 'citation') ||
  (block.kind === 'citation' && kind === 'text');

function addDelta(block: Block, kind: string, value: ExactJson): ReplyDelta | null {
  if (block.kind !== 'citation') block.kind = kind;
  if (kind === 'text') {
    block.texts.push(stringOf('text', value));
    return { kind: 'text', text: value as string };
  }
  if (kind === 'toolUse') {
    block.texts.push(stringOf('toolUse.input', objectIn(value)['input'] ?? ''));
    return null;
  }
  if (kind === 'reasoningContent') return addReasoning(block, objectIn(value));
  // Deltas of other kinds are lists (`toolResult`) or single values.
  if (Array.isArray(value)) for (const each of listIn(value)) block.values.push(each);
  else block.values.push(value);
  return null;
}

function addReasoning(block: Block, delta: ExactObject): ReplyDelta | null {
  const { text, signature, redactedContent } = delta;
  if (signature !== undefined) block.signatures.push(stringOf('reasoningContent.signature', signature));
  if (redactedContent !== undefined) {
    block.redacted.push(stringOf('reasoningContent.redactedContent', redactedContent));
  }
  if (text === undefined) return null;
  block.texts.push(stringOf('reasoningContent.text', text));
  return { kind: 'thinking', text: text as string };
}

/** The block as an answer without a stream has it. */
function* blockOf({ kind, texts, signatures, redacted, values, head }: Block): Steps<ExactJson> {
  const text = texts.join('');
  if (kind === null || kind === 'text') return { text };
  if (kind === 'toolUse') return { toolUse: { ...head, input: yield* inputOf(text) } };
  if (kind === 'citation') return { citationsContent: { content: [{ text }], citations: values } };
  if (kind !== 'reasoningContent') return { [kind]: contentOf(kind, head, values) };
  if (redacted.length > 0) return { reasoningContent: { redactedContent: joinBase64(redacted) } };
  const signature = signatures.join('');
  return { reasoningContent: { reasoningText: { text, ...(signature === '' ? {} : { signature }) } } };
}

// A call without parameters has no text. Text that is not JSON, such as that of a call that was cut, stays as it is.
function* inputOf(text: string): Steps<ExactJson> {
  if (text.trim() === '') return {};
  try {
    return yield* parseSteps(text, { refuse: () => undefined });
  } catch {
    return text;
  }
}

/** A result of the provider's own tool has a list of contents; a kind that we do not know keeps its only delta as it is. */
function contentOf(kind: string, head: ExactObject, values: readonly ExactJson[]): ExactJson {
  if (kind === 'toolResult') return { ...head, content: values };
  const [first] = values;
  if (values.length > 1 || !isExactObject(first ?? {})) return { ...head, deltas: values };
  return { ...head, ...objectIn(first) };
}

/** Base64 that arrives in pieces, each with padding of its own. */
const joinBase64 = (pieces: readonly string[]): string =>
  pieces.length === 1
    ? (pieces[0] ?? '')
    : Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');

function indexIn(event: string, data: ExactObject): number {
  const index = data['contentBlockIndex'];
  if (typeof index !== 'number') throw oddAnswer(`${event}.contentBlockIndex`, 'a number');
  return index;
}

function stringOf(path: string, value: ExactJson): string {
  if (typeof value !== 'string') throw oddAnswer(`contentBlockDelta.delta.${path}`, 'a string');
  return value;
}

function valueOf(event: StreamEvent): ExactJson {
  try {
    return parseEvent(event);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    return event.data;
  }
}

/** Services may add kinds of events, which are ignored. An error has a name that ends so, or states its type. */
function throwIfFault(event: StreamEvent): void {
  const { name, data } = event;
  const body = valueOf(event);
  const named = name !== null && /(exception|error|failure)$/i.test(name);
  if (!named && objectIn(body)['__type'] === undefined) return;
  throw converseFault(isExactObject(body) ? { __type: name, ...body } : { __type: name, message: data }, null);
}

/** Without `p`, which makes the sizes of events say nothing about their text. */
const withoutPadding = (data: ExactObject | null): ExactObject => withoutFields(data ?? {}, ['p']);

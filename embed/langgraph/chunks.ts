// The chunks of an answer that is streamed. A graph acts on the calls of an answer, so that it gets them as they are on record.
import type { RecordedCall } from '../durable/turn.ts';
import { graphCalls } from './answer.ts';
import { spokenText } from './prompt.ts';
import type { GraphAnswer } from './sdk.ts';

/** A chunk of an answer; chunks of the framework can be joined. */
export interface GraphChunk extends GraphAnswer {
  readonly tool_call_chunks?: readonly object[] | undefined;
  readonly invalid_tool_calls?: readonly object[] | undefined;
  concat?(next: never): GraphChunk;
}

export interface ArrivingChunks {
  /** The text of a chunk that may be shown at once; null for one with a call, and for what follows it. */
  readonly add: (chunk: GraphChunk) => string | null;
  /** Throws an Error for a stream without chunks, and a TypeError for chunks that cannot be joined. */
  readonly whole: () => GraphAnswer;
  /** What was not shown at once, with the recorded calls; null when everything was. */
  readonly rest: (calls: readonly RecordedCall[]) => object | null;
}

export function newArrivingChunks(): ArrivingChunks {
  const shown: GraphChunk[] = [];
  const held: GraphChunk[] = [];
  return {
    add(chunk) {
      const isHeld = held.length > 0 || hasCalls(chunk);
      (isHeld ? held : shown).push(chunk);
      return isHeld ? null : spokenText(chunk.content);
    },
    whole: () => joinedAll([...shown, ...held]),
    rest: (calls) => (held.length === 0 ? null : withCalls(joinedAll(held), calls)),
  };
}

const hasCalls = ({ content, tool_calls, tool_call_chunks, invalid_tool_calls }: GraphChunk): boolean =>
  [tool_calls, tool_call_chunks, invalid_tool_calls].some((list) => (list?.length ?? 0) > 0) ||
  (Array.isArray(content) && content.some(isCallBlock));

/** Some providers write a call as a block of the content, too. */
const isCallBlock = (block: unknown): boolean =>
  typeof block === 'object' && block !== null && 'type' in block && /tool|function|json/.test(String(block.type));

function joinedAll(chunks: readonly GraphChunk[]): GraphChunk {
  const [first, ...further] = chunks;
  if (first === undefined) throw new Error('the stream of the model ended before its answer: ask it again');
  return further.reduce((whole, chunk) => joined(whole, chunk) as GraphChunk, first);
}

/** Texts, lists and messages of the framework are joined by a method of theirs. Throws a TypeError for anything else. */
export function joined(one: unknown, next: unknown): unknown {
  const concat: unknown = (one as { readonly concat?: unknown } | null)?.concat;
  if (typeof concat !== 'function') throw new TypeError('these chunks have no concat(): ask with invoke()');
  return Reflect.apply(concat, one, [next]);
}

function withCalls(chunk: GraphChunk, calls: readonly RecordedCall[]): object {
  // Chunks are objects of classes of the framework.
  return Object.assign(Object.create(Object.getPrototypeOf(chunk) as object) as object, chunk, {
    tool_calls: graphCalls(calls),
    tool_call_chunks: calls.map(({ id, name, arguments: args }, index) => ({
      type: 'tool_call_chunk',
      index,
      id,
      name,
      args,
    })),
  });
}

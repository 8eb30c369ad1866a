// Large answers: their JSON in parts, and a response of them that lets other requests be answered while it is written.
import type { Pause } from '../turns.ts';

/** Containers up to this level are written part by part: below are single calls, entries and definitions. */
const LEVELS = 3;
/** Below, those are written part by part that hold a list of more items than this. */
const ITEMS_WHOLE = 32;
/** UTF-16 units that are encoded at a time. */
const PIECE_CHARS = 65_536;

/** The JSON of a plain value, as `JSON.stringify` gives it, in parts. */
export function* jsonParts(value: unknown, level = 0): Generator<string, void, undefined> {
  if (typeof value !== 'object' || value === null || (level >= LEVELS && !isLong(value))) {
    yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    let before = '[';
    for (const item of value) {
      yield before;
      yield* jsonParts(item, level + 1);
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  } else {
    let before = '{';
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* jsonParts(field, level + 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  }
}

const isLong = (value: unknown): boolean =>
  Array.isArray(value)
    ? isLongList(value) || value.some(isLong)
    : typeof value === 'object' && value !== null && Object.values(value).some(isLongList);

const isLongList = (value: unknown): boolean => Array.isArray(value) && value.length > ITEMS_WHOLE;

export interface Writing {
  readonly pause: Pause;
  /** Aborted when nobody reads the response any more: then the rest is not written. */
  readonly signal: AbortSignal;
}

/** A response of JSON in parts. Other work goes on while they are written and encoded. */
export async function jsonInParts(
  parts: Iterable<string>,
  { pause, signal }: Writing,
  status = 200,
): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const pieces: Uint8Array[] = [];
  let text = '';
  for (const part of parts) {
    text += part;
    if (text.length < PIECE_CHARS) continue;
    pieces.push(ENCODER.encode(text));
    text = '';
    const rest = pause();
    if (rest !== null) await rest;
    if (signal.aborted) return new Response(null, { status: 499 });
  }
  if (pieces.length === 0) return new Response(text, { status, headers });
  pieces.push(ENCODER.encode(text));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return new Response(streamOf(pieces), { status, headers: { ...headers, 'content-length': String(length) } });
}

const ENCODER = new TextEncoder();

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces[at];
      at += 1;
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
}

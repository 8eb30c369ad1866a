// The response with an answer of a handler.
import { isLeft } from 'fp-ts/lib/Either.js';
import { pause } from '../turns.ts';
import { type RouteShape, isText } from './api/route-shape.ts';
import type { Answer } from './handler.ts';
import { jsonInParts } from './json-parts.ts';
import { problemResponse } from './problem.ts';

/** `signalOf`: aborts when nobody reads the response any more. */
export async function handlerResponse(
  shape: RouteShape,
  answer: Response | Answer,
  signalOf: () => AbortSignal,
): Promise<Response> {
  if (!('_tag' in answer)) return answer;
  if (answer._tag === 'Parts') return await jsonInParts(answer.parts, { pause, signal: signalOf() }, shape.status);
  if (answer._tag === 'Bytes') return bytesResponse(shape, answer.bytes);
  const headers: Record<string, string> = shape.noStore === true ? { 'cache-control': 'no-store' } : {};
  return isLeft(answer) ? problemResponse(answer.left) : Response.json(answer.right, { status: shape.status, headers });
}

function bytesResponse({ answer }: RouteShape, bytes: Uint8Array): Response {
  const type = isText(answer) ? answer.type : 'application/octet-stream';
  const headers = { 'content-type': type, 'content-length': String(bytes.length) };
  return new Response(bytes.length === 0 ? null : piecesOf(bytes), { headers });
}

/** Bytes in pieces, each of which is sent by itself: to copy and send a large blob at once would hold the event loop. */
function piecesOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
      if (at >= bytes.length) controller.close();
    },
  });
}

const PIECE_BYTES = 262_144;

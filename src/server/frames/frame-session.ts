// One stream: reads requests from its frames, has the handlers of the routes answer them, and closes it for what is no frame.
import type { Socket } from 'node:net';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { type Codec, decode } from '../../../schemas/codec.ts';
import { isPlainObject, parseJson } from '../../../schemas/json.ts';
import {
  BODY_BYTES_MAX,
  BODY_VALUES_MAX,
  FRAMES_OPEN_MAX,
  FRAME_BLOB_BYTES_MAX,
  FRAME_MS_MAX,
  STALLED_MS_MAX,
} from '../../../schemas/limits.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { newFrameReader } from '../../client/frames/frame-codec.ts';
import { type FrameRequest, type FrameRoute, type StreamFault, readSent } from '../../client/frames/frame-texts.ts';
import { markUnshared } from '../../client/wire-text.ts';
import { refuseRoute } from '../../client/with-access.ts';
import { pause } from '../../turns.ts';
import type { RouteShape } from '../api/route-shape.ts';
import { ROUTE_SHAPES } from '../api/route-shapes.ts';
import type { RequestRoom } from '../body-room.ts';
import { unauthorized } from '../guard.ts';
import type { Answer, Asked, Handler } from '../handler.ts';
import { internalFault, problemOf } from '../problem.ts';
import type { Routes } from '../route-handlers.ts';
import type { TokenHolder } from '../token-holder.ts';
import { type AnswerWriter, newAnswerWriter } from './answer-writer.ts';

export interface FrameSessionOptions {
  readonly holder: TokenHolder;
  readonly routes: Routes;
  readonly onError: (error: unknown) => void;
  /** Instead of FRAME_MS_MAX. */
  readonly frameMsMax?: number;
}

/** Serves a stream until its connection ends. `head`: its first bytes, if they came already. */
export function serveFrames(socket: Socket, head: Uint8Array, options: FrameSessionOptions): void {
  const { holder, frameMsMax = FRAME_MS_MAX } = options;
  const open = new Map<number, AbortController>();
  const reader = newFrameReader();
  const writer = newAnswerWriter(socket, () => socket.destroy());
  const isOver = (): boolean => socket.destroyed || isClosing;
  const serveOne = requestServer({ options, writer, open, isOver });
  let lastId = 0;
  let isClosing = false;
  let halfFrame: NodeJS.Timeout | null = null;

  function close(closed: StreamFault, detail: string): void {
    if (isClosing) return;
    isClosing = true;
    writer.frame(JSON.stringify({ closed, detail }));
    for (const stop of open.values()) stop.abort();
    socket.end();
    // The other end may not close, and may not read.
    setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  }

  function read(bytes: Uint8Array): void {
    if (isClosing) return;
    const { texts, fault } = reader.read(bytes);
    for (const text of texts) if (!isClosing) take(text);
    if (fault !== null) close(fault, FAULTS[fault]);
    if (halfFrame !== null && (texts.length > 0 || !reader.isBegun())) {
      clearTimeout(halfFrame);
      halfFrame = null;
    }
    if (reader.isBegun() && !isClosing)
      halfFrame ??= setTimeout(
        () => close('timeout', `half a frame for ${frameMsMax} ms; send it again`),
        frameMsMax,
      ).unref();
  }

  function take(text: string): void {
    const sent = readSent(text);
    if (sent === null) close('invalid_frame', FAULTS.invalid_frame);
    else if ('cancel' in sent) open.get(sent.cancel)?.abort();
    else if (sent.id <= lastId)
      close('invalid_frame', `the id ${sent.id} is not above ${lastId}; use each id once, in order`);
    else if (!holder.isCurrent()) close('unauthorized', unauthorized().message);
    else {
      lastId = sent.id;
      const body = bodyOf(sent);
      if (isLeft(body) && body.left.code === 'malformed_json') close('invalid_frame', 'the body is no JSON');
      else void serveOne(sent, body, text.length);
    }
  }

  socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS).setTimeout(STALLED_MS_MAX);
  socket.on('timeout', () => {
    if (socket.writableLength > 0) socket.destroy();
  });
  socket.on('data', read);
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.destroy());
  socket.once('close', () => {
    if (halfFrame !== null) clearTimeout(halfFrame);
    for (const stop of open.values()) stop.abort();
  });
  if (head.length > 0) read(head);
}

interface RequestServer {
  readonly options: FrameSessionOptions;
  readonly writer: AnswerWriter;
  /** The requests that are not answered yet. */
  readonly open: Map<number, AbortController>;
  /** Whether answers are of no use any more. */
  readonly isOver: () => boolean;
}

/** What serves one request of a stream. */
function requestServer({ options, writer, open, isOver }: RequestServer) {
  const { holder, routes, onError } = options;
  const client = routes.clientOf(holder.access);

  async function serveOne(sent: FrameRequest, body: Either<Rejection, unknown>, bytes: number): Promise<void> {
    const { id, route } = sent;
    const own = routes.room.enter(holder.access.scope, undefined);
    const stop = new AbortController();
    try {
      const full = open.size >= FRAMES_OPEN_MAX ? TOO_MANY : own.take(bytes);
      open.set(id, stop);
      const rest = pause();
      if (rest !== null) await rest;
      const answer = full === null ? await answerTo(sent, body, own, stop.signal) : left(full);
      if (!isOver()) await write(id, route, answer);
    } catch (error) {
      onError(error);
      if (!isOver()) await write(id, route, left(internalFault()));
    } finally {
      open.delete(id);
      own.done();
    }
  }

  async function answerTo(
    { id, route, of, query, push }: FrameRequest,
    body: Either<Rejection, unknown>,
    room: RequestRoom,
    signal: AbortSignal,
  ): Promise<Answer> {
    const refusal = refuseRoute(holder.access, route);
    if (refusal !== null) return left(refusal);
    const shape: RouteShape = ROUTE_SHAPES[route];
    const asked = shape.query === undefined ? right({}) : decode(shape.query.codec as Codec<object>, query);
    if (isLeft(asked)) return asked;
    const given: Asked<FrameRoute> = {
      holder,
      client,
      of,
      query: asked.right,
      room,
      signal,
      body: () => Promise.resolve(body as Either<Rejection, never>),
      bytes: (bytesMax) => Promise.resolve(bytesIn(body, bytesMax)),
      ...(push ? { push: (parts) => void writer.send(id, parts, 'pushed') } : {}),
    };
    return await (routes.handlers[route] as Handler<FrameRoute>)(given);
  }

  async function write(id: number, route: FrameRoute, answer: Answer): Promise<void> {
    const { status } = ROUTE_SHAPES[route];
    if (answer._tag === 'Left') {
      const problem = problemOf(answer.left);
      await writer.send(id, [JSON.stringify(problem)], problem);
    } else if (answer._tag === 'Right') await writer.send(id, [JSON.stringify(answer.right)], { status });
    else if (answer._tag === 'Parts') await writer.send(id, answer.parts, { status });
    else if (answer.bytes.length > FRAME_BLOB_BYTES_MAX) writer.frame(`{"id":${id},"over":"http"}`);
    else {
      const base64 = Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.length).toString('base64');
      writer.frame(`{"id":${id},"status":${status},"body":{"base64":"${base64}"}}`);
    }
  }

  return serveOne;
}

/** The body by the rules of one over HTTP. */
function bodyOf({ body }: FrameRequest): Either<Rejection, unknown> {
  if (body === null) return right(undefined);
  const parsed = parseJson(body, BODY_BYTES_MAX, BODY_VALUES_MAX);
  return isLeft(parsed) ? parsed : right(markUnshared(parsed.right, body.length));
}

function bytesIn(body: Either<Rejection, unknown>, bytesMax: number): Either<Rejection, Uint8Array> {
  if (isLeft(body)) return body;
  const base64 = isPlainObject(body.right) ? body.right['base64'] : undefined;
  const isBase64 = typeof base64 === 'string' && base64.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(base64);
  if (!isBase64) return left(reject('invalid_shape', '/base64', 'the bytes must be base64, padded'));
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length <= Math.min(bytesMax, FRAME_BLOB_BYTES_MAX)) return right(bytes);
  return left(
    reject('too_large', '/base64', `a frame has a blob of at most ${FRAME_BLOB_BYTES_MAX} bytes; send it over HTTP`),
  );
}

const FAULTS = {
  too_large: 'a frame has at most 1 MiB; send a longer request over HTTP',
  invalid_frame: 'that was no frame of refold/1: JSON in UTF-8 with an id, a known type, and the body last',
} as const;

const TOO_MANY = reject(
  'queue_full',
  '',
  `${FRAMES_OPEN_MAX} requests of this stream wait already; send this one later`,
);

const CLOSE_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;

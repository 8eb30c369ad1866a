// What the frames of a stream say (docs/bridge.md, "The stream"), written by one side and read by the other. The body of a
// request comes last and is read apart from the rest, so that it is refused for the same faults as a body over HTTP.
import type { RouteName } from '../../../schemas/access.ts';
import { isPlainObject } from '../../../schemas/json.ts';

/** The protocol that a client asks for in the Upgrade header of `GET /v1`. */
export const STREAM_PROTOCOL = 'refold/1';
export const STREAM_PATH = '/v1';

/** The routes that a stream carries; the others answer with streams of their own, or are for people. */
export const FRAME_ROUTES = [
  'info',
  'sessions',
  'createSession',
  'deleteSession',
  'deletedSessions',
  'session',
  'submit',
  'postDeltas',
  'records',
  'fork',
  'submits',
  'lease',
  'heartbeat',
  'release',
  'putBlob',
  'joinBlobs',
  'getBlob',
] as const satisfies readonly RouteName[];
export type FrameRoute = (typeof FRAME_ROUTES)[number];

export const isFrameRoute = (route: unknown): route is FrameRoute =>
  (FRAME_ROUTES as readonly unknown[]).includes(route);

/** A request in a frame. Ids increase on a stream, so that none is used twice. */
export interface FrameRequest {
  readonly id: number;
  readonly route: FrameRoute;
  /** The parameter of the path of the route. */
  readonly of: string;
  readonly query: object;
  /** Grants are to be pushed before the answer. */
  readonly push: boolean;
  /** JSON text; null without a body. */
  readonly body: string | null;
}

/** Nobody waits for the answer to a request any more. */
interface FrameCancel {
  readonly cancel: number;
}

/** What a stream is closed for. */
export type StreamFault = 'too_large' | 'invalid_frame' | 'unauthorized' | 'queue_full' | 'timeout';

/** What an engine sends. */
export type FrameAnswer =
  | { readonly id: number; readonly status: number; readonly body?: unknown }
  | { readonly id: number; readonly part: string }
  | { readonly id: number; readonly pushed: unknown }
  | { readonly id: number; readonly over: 'http' }
  | { readonly closed: StreamFault; readonly detail: string };

const BODY = ',"body":';

export function requestText({ id, route, of, query, push, body }: FrameRequest): string {
  const asked = `{"id":${id},"type":"${route}"${of === '' ? '' : `,"of":${JSON.stringify(of)}`}`;
  const more = Object.keys(query).length === 0 ? '' : `,"query":${JSON.stringify(query)}`;
  return `${asked}${more}${push ? ',"push":true' : ''}${body === null ? '' : `${BODY}${body}`}}`;
}

/** Null for what is no frame. Whether the body is JSON is seen when it is read. */
export function readSent(text: string): FrameRequest | FrameCancel | null {
  // Within a text, the quotation marks would be escaped: where this first stands, the body begins.
  const at = text.indexOf(BODY);
  const head = parsed(at === -1 ? text : `${text.slice(0, at)}}`);
  if (!isPlainObject(head)) return null;
  if (at === -1) return 'cancel' in head ? cancelOf(head) : requestOf(head, null);
  return text.endsWith('}') ? requestOf(head, text.slice(at + BODY.length, -1)) : null;
}

type Head = Readonly<Record<string, unknown>>;

const cancelOf = ({ cancel, ...others }: Head): FrameCancel | null =>
  isId(cancel) && Object.keys(others).length === 0 ? { cancel } : null;

function requestOf(
  { id, type, of = '', query = {}, push = false, ...others }: Head,
  body: string | null,
): FrameRequest | null {
  if (!isId(id) || !isFrameRoute(type) || Object.keys(others).length > 0) return null;
  if (typeof of !== 'string' || typeof push !== 'boolean' || !isPlainObject(query)) return null;
  return { id, route: type, of, query, push, body };
}

/** Null for what is no frame of an engine. */
export function readEngineFrame(text: string): FrameAnswer | null {
  const answer = parsed(text);
  if (!isPlainObject(answer)) return null;
  if (typeof answer['closed'] === 'string') return answer as unknown as FrameAnswer;
  const { status, part, over } = answer;
  const isOne = Number.isInteger(status) || typeof part === 'string' || 'pushed' in answer || over === 'http';
  return isId(answer['id']) && isOne ? (answer as unknown as FrameAnswer) : null;
}

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

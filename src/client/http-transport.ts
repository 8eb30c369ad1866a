// Sends requests to one engine over HTTP. A failed connection becomes the rejection `closing`: whether the request arrived
// is unknown, so the caller sends it again with the same event id.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { RouteName } from '../../schemas/access.ts';
import { type Codec, decode } from '../../schemas/codec.ts';
import { REQUEST_TIMEOUT_MS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { platform } from '#client-platform';
import { isHttpUrl } from './http-url.ts';
import { joinSignals } from './join-signals.ts';
import { FETCH_OPTIONS } from './platform/fetch-options.ts';
import type { ExchangeReply, Exchanger } from './platform/platform.ts';
import { rejectionFrom } from './problem.ts';
import { wireText } from './wire-text.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface RouteCall {
  readonly route: RouteName;
  /** The parameter of its path. */
  readonly of?: string;
  readonly query?: object;
  readonly json?: unknown;
  /** The body as JSON text. */
  readonly text?: string;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** Time that the engine may take beyond the usual timeout of a request. */
  readonly waitMs?: number;
  /** Takes what is pushed before the answer, over a connection that can push. */
  readonly onPushed?: (value: unknown) => void;
}

/** A GET whose response is streamed. */
export interface StreamCall {
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

/** A response whose body is not read yet; call `release` once it is. */
export interface OpenResponse {
  readonly response: Response;
  readonly release: () => void;
}

export interface Transport {
  /** The response, when its status is a success. Its body has no timeout. */
  readonly send: (call: StreamCall) => Answer<OpenResponse>;
  /** The decoded JSON of the response. */
  readonly call: <T>(codec: Codec<T>, call: RouteCall) => TaskEither<Rejection, T>;
  /** The bytes of the response. */
  readonly bytes: (call: RouteCall) => TaskEither<Rejection, Uint8Array>;
  /** Whether requests share one connection now: joined into one, they would only wait for each other. */
  readonly isShared: () => boolean;
  /** Aborts when the client is closed. */
  readonly closed: AbortSignal;
  readonly close: () => void;
}

export interface TransportOptions {
  /** Asked before each new connection: why the process that listens there must not be sent the token, or null. */
  readonly refuseListener?: () => string | null;
  /** What sends requests in place of HTTP where it can, and else over the given exchanger. */
  readonly over?: (http: Exchanger) => Exchanger;
}

export function newTransport(url: string, token: string, { refuseListener, over }: TransportOptions = {}): Transport {
  checkAccess(url, token);
  const base = url.replace(/\/+$/, '');
  const closing = new AbortController();
  let made: Exchanger | null = null;
  const exchanger = (): Exchanger => (made ??= (over ?? asItIs)(platform.newExchanger(base, refuseListener)));
  const unreachable = (what: string): Rejection => reject('closing', '', `${base} ${what}`);

  async function send({ path, signal: callerSignal }: StreamCall): Answer<OpenResponse> {
    const timeout = startTimeout(REQUEST_TIMEOUT_MS);
    const { signal, release } = joinSignals(callerSignal, closing.signal, timeout.signal);
    try {
      const refused = refuseListener?.() ?? null;
      if (refused !== null) throw new Error(refused);
      const response = await fetch(base + path, { ...FETCH_OPTIONS, headers: headersOf({}, token), signal });
      if (response.ok) return right({ response, release });
      const rejection = await rejectionOf(response);
      release();
      return left(rejection);
    } catch (error) {
      release();
      return left(unreachable(`does not answer: ${reasonOf(error)}`));
    } finally {
      timeout.cancel();
    }
  }

  const exchanging =
    <T>(read: (reply: ExchangeReply) => Either<Rejection, T>) =>
    (call: RouteCall): TaskEither<Rejection, T> =>
    async () => {
      const { route, of, query, signal, onPushed } = call;
      const content = call.json === undefined ? right(undefined) : wireText(call.json);
      if (isLeft(content)) return content;
      const body = call.text ?? content.right?.text ?? call.bytes;
      const timeoutMs = REQUEST_TIMEOUT_MS + (call.waitMs ?? 0);
      try {
        const request = { route, of, query, headers: headersOf(call, token), body, signal, timeoutMs, onPushed };
        if (closing.signal.aborted) return left(unreachable('was not called: this client is closed'));
        const reply = await exchanger().exchange(request);
        return reply.status >= 200 && reply.status < 300 ? read(reply) : left(rejectionIn(reply.status, jsonOf(reply)));
      } catch (error) {
        return left(unreachable(`does not answer: ${reasonOf(error)}`));
      }
    };

  const call = <T>(codec: Codec<T>, request: RouteCall): TaskEither<Rejection, T> =>
    exchanging((reply) => {
      const decoded = decode(codec, reply.json());
      if (!isLeft(decoded)) return decoded;
      const { path, message } = decoded.left;
      return left(unreachable(`did not answer like an engine: ${path} ${message}`));
    })(request);
  const bytes = exchanging((reply) => right(reply.bytes()));

  const close = (): void => {
    closing.abort();
    made?.close();
  };
  return { send, call, bytes, isShared: () => made?.isShared?.() === true, closed: closing.signal, close };
}

/** Throws for a URL or a token with which no request can succeed. */
function checkAccess(url: unknown, token: unknown): void {
  if (!isHttpUrl(url)) {
    throw new TypeError("the engine's address must be an http or https URL such as http://127.0.0.1:7423");
  }
  if (typeof token === 'string' && token.trim() === token && /^[\x20-\x7e]*$/.test(token)) return;
  throw new TypeError(
    "the engine's token must be printable ASCII without white space around it: trim the text of a token file",
  );
}

function headersOf({ json, text, bytes }: Partial<RouteCall>, token: string): Readonly<Record<string, string>> {
  const authorization = `Bearer ${token}`;
  if (json !== undefined || text !== undefined) return { authorization, 'content-type': 'application/json' };
  return bytes === undefined ? { authorization } : { authorization, 'content-type': 'application/octet-stream' };
}

/** A signal that aborts when the engine accepts a connection and does not answer in time. */
function startTimeout(ms: number): { readonly signal: AbortSignal; readonly cancel: () => void } {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), ms);
  return { signal: timeout.signal, cancel: () => clearTimeout(timer) };
}

const rejectionOf = async (response: Response): Promise<Rejection> =>
  rejectionIn(response.status, await response.json().catch(() => null));

function rejectionIn(status: number, body: unknown): Rejection {
  // An answer without problem details does not come from an engine.
  const unexpected = `unexpected answer ${status}; is this the address of an engine?`;
  return rejectionFrom(body) ?? reject('closing', '', unexpected);
}

function jsonOf(reply: ExchangeReply): unknown {
  try {
    return reply.json();
  } catch {
    return null;
  }
}

const asItIs = (http: Exchanger): Exchanger => http;

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  const text = cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
  return text.slice(0, 500).toWellFormed();
};

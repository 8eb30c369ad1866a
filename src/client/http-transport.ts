// Requests to one engine over HTTP. A connection that fails is the rejection `closing`: nothing is known about what
// was sent, so send it again with the same event id.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode } from '../../schemas/codec.ts';
import { REQUEST_TIMEOUT_MS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { joinSignals } from './join-signals.ts';
import { rejectionFrom } from './problem.ts';
import { wireText } from './wire-text.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** How long the engine may take, beyond the time a request usually has. */
  readonly waitMs?: number;
}

/** A response whose body is yet to be read; `over` when it has been. */
export interface OpenResponse {
  readonly response: Response;
  readonly over: () => void;
}

export interface Transport {
  /** The response, when its status is a success. From then on it may take any time. */
  readonly send: (call: HttpCall) => Answer<OpenResponse>;
  /** The JSON of the response, when it is what an engine answers. */
  readonly call: <T>(codec: Codec<T>, call: HttpCall) => TaskEither<Rejection, T>;
  /** The bytes of the response. */
  readonly bytes: (call: HttpCall) => TaskEither<Rejection, Uint8Array>;
  /** Ends what is open, and everything later. */
  readonly closed: AbortSignal;
  readonly close: () => void;
}

export function newTransport(url: string, token: string): Transport {
  const base = url.replace(/\/+$/, '');
  const closing = new AbortController();
  const away = (what: string): Rejection => reject('closing', '', `${base} ${what}`);

  async function send(call: HttpCall): Answer<OpenResponse> {
    const body = call.json === undefined ? right(undefined) : wireText(call.json);
    if (isLeft(body)) return body;
    const patience = startPatience(REQUEST_TIMEOUT_MS + (call.waitMs ?? 0));
    const { signal, release } = joinSignals(call.signal, closing.signal, patience.signal);
    try {
      const { method, path } = call;
      const content = body.right?.text ?? call.bytes;
      const init = { method, headers: headersOf(call, token), signal };
      const response = await fetch(base + path, content === undefined ? init : { ...init, body: content });
      if (response.ok) return right({ response, over: release });
      const rejection = await rejectionOf(response);
      release();
      return left(rejection);
    } catch (error) {
      release();
      return left(away(`does not answer: ${reasonOf(error)}`));
    } finally {
      patience.end();
    }
  }

  const reading =
    <T>(read: (response: Response) => Promise<Either<Rejection, T>>) =>
    (call: HttpCall): TaskEither<Rejection, T> =>
    async () => {
      const patience = startPatience(2 * REQUEST_TIMEOUT_MS + (call.waitMs ?? 0));
      const { signal, release } = joinSignals(call.signal, patience.signal);
      try {
        const sent = await send({ ...call, signal });
        if (isLeft(sent)) return sent;
        return await read(sent.right.response).finally(sent.right.over);
      } catch (error) {
        return left(away(`broke off: ${reasonOf(error)}`));
      } finally {
        release();
        patience.end();
      }
    };

  const call = <T>(codec: Codec<T>, request: HttpCall): TaskEither<Rejection, T> =>
    reading(async (response) => {
      const decoded = decode(codec, await response.json());
      return isLeft(decoded) ? left(away(`is no engine: ${decoded.left.path} ${decoded.left.message}`)) : decoded;
    })(request);
  const bytes = reading(async (response) => right(new Uint8Array(await response.arrayBuffer())));

  return { send, call, bytes, closed: closing.signal, close: () => closing.abort() };
}

function headersOf({ json, bytes }: HttpCall, token: string): Readonly<Record<string, string>> {
  const authorization = `Bearer ${token}`;
  if (json !== undefined) return { authorization, 'content-type': 'application/json' };
  return bytes === undefined ? { authorization } : { authorization, 'content-type': 'application/octet-stream' };
}

/** A signal that aborts when an engine that took a connection says nothing. */
function startPatience(ms: number): { readonly signal: AbortSignal; readonly end: () => void } {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  timer.unref();
  return { signal: over.signal, end: () => clearTimeout(timer) };
}

async function rejectionOf(response: Response): Promise<Rejection> {
  const problem: unknown = await response.json().catch(() => null);
  // Without problem details, whatever answered was not an engine.
  const unexpected = `unexpected answer ${response.status}; is this the address of an engine?`;
  return rejectionFrom(problem) ?? reject('closing', '', unexpected);
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  const text = cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
  return text.slice(0, 500).toWellFormed();
};

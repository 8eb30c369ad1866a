// Requests to one engine over HTTP. A connection that fails is the rejection `closing`: nothing is known about what
// was sent, so send it again with the same event id.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { REJECTIONS, type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

export interface Transport {
  /** The response, when its status is a success. */
  readonly send: (call: HttpCall) => Answer<Response>;
  /** The JSON of the response. */
  readonly call: <T>(call: HttpCall) => TaskEither<Rejection, T>;
  /** The bytes of the response. */
  readonly bytes: (call: HttpCall) => TaskEither<Rejection, Uint8Array>;
  /** Ends what is open, and everything later. */
  readonly closed: AbortSignal;
  readonly close: () => void;
}

export function newTransport(url: string, token: string): Transport {
  const base = url.replace(/\/+$/, '');
  const closing = new AbortController();

  async function send({ method, path, json, bytes, signal }: HttpCall): Answer<Response> {
    const any = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (json !== undefined) headers['content-type'] = 'application/json';
    if (bytes !== undefined) headers['content-type'] = 'application/octet-stream';
    const body = json === undefined ? bytes : JSON.stringify(json);
    try {
      const init = { method, headers, signal: any, ...(body === undefined ? {} : { body }) };
      const response = await fetch(base + path, init);
      return response.ok ? right(response) : left(await rejectionOf(response));
    } catch (error) {
      return left(reject('closing', '', `no answer from ${base}: ${reasonOf(error)}`));
    }
  }

  const reading =
    <T>(read: (response: Response) => Promise<T>) =>
    (request: HttpCall): TaskEither<Rejection, T> =>
    async () => {
      const response = await send(request);
      if (isLeft(response)) return response;
      try {
        return right(await read(response.right));
      } catch (error) {
        return left(reject('closing', '', `the answer of ${base} broke off: ${reasonOf(error)}`));
      }
    };
  const call = <T>(request: HttpCall): TaskEither<Rejection, T> =>
    reading(async (response) => (await response.json()) as T)(request);
  const bytes = reading(async (response) => new Uint8Array(await response.arrayBuffer()));

  return { send, call, bytes, closed: closing.signal, close: () => closing.abort() };
}

async function rejectionOf(response: Response): Promise<Rejection> {
  try {
    const problem = (await response.json()) as {
      readonly code?: string;
      readonly path?: string;
      readonly detail?: string;
    };
    if (problem.code !== undefined && Object.hasOwn(REJECTIONS, problem.code)) {
      return reject(problem.code as RejectionCode, problem.path ?? '', problem.detail ?? '');
    }
  } catch {
    // No problem details: whatever answered, it was not an engine.
  }
  return reject('closing', '', `unexpected answer ${response.status}; is this the address of an engine?`);
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  const text = cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
  return text.slice(0, 500).toWellFormed();
};

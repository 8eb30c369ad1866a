// The form of a request that must be refused, and how most of them are made.
import type { RejectionCode } from '../../../schemas/rejection.ts';
import { type ApiRequest, TOKENS } from '../api/served-api.ts';

export type Headers = Readonly<Record<string, string>>;
/** What is wrong, and what it must be answered. */
export type Row = readonly [what: string, status: number, code: RejectionCode, request: ApiRequest];

const AUTHORIZED: Headers = { authorization: `Bearer ${TOKENS.operator}` };
const JSON_TYPE: Headers = { 'content-type': 'application/json' };

export const get = (path: string, headers: Headers = {}): ApiRequest => ({
  method: 'GET',
  path,
  headers: { ...AUTHORIZED, ...headers },
});

export const post = (path: string, body: string | Buffer | object, headers: Headers = JSON_TYPE): ApiRequest => ({
  method: 'POST',
  path,
  headers: { ...AUTHORIZED, ...headers },
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});

/** A session that is there. */
export const HOSTILE_SESSION = 's-hostile';
export const of = (rest: string): string => `/v1/sessions/${HOSTILE_SESSION}${rest}`;

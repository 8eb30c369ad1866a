// Rejections over HTTP: RFC 9457 problem details with a stable code, without stack traces or paths of the machine.
import { type Rejection, REJECTIONS, type RejectionCode, reject } from '../../schemas/rejection.ts';
import type { Problem } from '../../schemas/wire.ts';

const STATUS: Partial<Readonly<Record<RejectionCode, number>>> = {
  malformed_json: 400,
  too_large: 413,
  too_deep: 400,
  duplicate_key: 400,
  invalid_value: 400,
  invalid_shape: 400,
  unknown_kind: 400,
  digest_mismatch: 400,
  unauthorized: 401,
  forbidden: 403,
  forbidden_scope: 403,
  not_found: 404,
  unknown_session: 404,
  unknown_blob: 404,
  catalog_invalid: 422,
  queue_full: 429,
  too_many_active_sessions: 429,
  storage_failed: 503,
  in_use: 503,
  storage_full: 507,
  uploads_full: 507,
  storage_unknown: 503,
  closing: 503,
  damaged: 500,
  internal: 500,
};

/** The status of a rejection: 409 for each request that is well formed and does not apply now. */
export const problemStatus = (code: RejectionCode): number => STATUS[code] ?? 409;

export function problemOf({ code, path, message }: Rejection): Problem {
  return {
    type: `urn:refold:rejection:${code}`,
    title: REJECTIONS[code],
    status: problemStatus(code),
    code,
    path: path.slice(0, 4_000),
    detail: withoutPaths(code, message).slice(0, 4_000).toWellFormed(),
  };
}

const NAMES_FILES: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'damaged',
  'outdated',
]);

// Removes paths: the platform's messages for failed reads and writes name files of the machine.
const withoutPaths = (code: RejectionCode, message: string): string =>
  NAMES_FILES.has(code)
    ? message.replace(/(^|[\s'"(:=])(?:file:\/\/|[A-Za-z]:)?[/\\][^\s'"),:]+/g, '$1(a file)')
    : message;

export const problemResponse = (rejection: Rejection): Response => {
  const problem = problemOf(rejection);
  const headers = { 'content-type': 'application/problem+json' };
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
};

/** For an error that was thrown: its details are not reported. */
export const internalFault = (): Rejection =>
  reject('internal', '', 'the request failed inside the engine; read the session before you send it again');

// Reads the rejection from an engine's problem details (RFC 9457).
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import { REJECTIONS, type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { Problem } from '../../schemas/wire.ts';

/** The rejection in problem details; null when they do not come from an engine. */
export function rejectionFrom(problem: unknown): Rejection | null {
  const decoded = decode(Problem, problem);
  if (isLeft(decoded)) return null;
  const { code = '', path = '', detail = '' } = decoded.right;
  return Object.hasOwn(REJECTIONS, code) ? reject(code as RejectionCode, path, detail) : null;
}

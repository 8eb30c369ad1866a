// Requests that no well-behaved client sends, each with the status and the code that it must get. They are small: those that cost
// much are in the corpus.
import type { RejectionCode } from '../../../schemas/rejection.ts';
import type { ApiRequest } from '../api/served-api.ts';
import { ADDRESSES } from './refused-addresses.ts';
import { BODIES } from './refused-bodies.ts';

export interface RefusedCase {
  readonly name: string;
  readonly request: ApiRequest;
  readonly status: number;
  readonly code: RejectionCode;
}

export const REFUSED: readonly RefusedCase[] = [...ADDRESSES, ...BODIES].map(([name, status, code, request]) => ({
  name,
  status,
  code,
  request,
}));

// Which sessions a request for a page asks for.
import type { SessionHead, SessionsRequest } from './journal.ts';

export const matchesRequest = (
  { owing, card: { status } }: SessionHead,
  request: Pick<SessionsRequest, 'owing' | 'waiting' | 'status'>,
): boolean =>
  (request.owing === undefined || request.owing === owing) &&
  (request.waiting === undefined || request.waiting === (status === 'requires_action' || status === 'waiting')) &&
  (request.status === undefined || request.status === status);

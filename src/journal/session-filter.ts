// Which sessions a request for a page asks for.
import type { SessionHead, SessionsRequest } from './journal.ts';
import { partitionOf } from './partition.ts';

export const matchesRequest = (
  { session_id, owing, card: { status } }: SessionHead,
  request: Pick<SessionsRequest, 'owing' | 'waiting' | 'status' | 'partitions'>,
): boolean =>
  (request.owing === undefined || request.owing === owing) &&
  (request.waiting === undefined || request.waiting === (status === 'requires_action' || status === 'waiting')) &&
  (request.status === undefined || request.status === status) &&
  (request.partitions === undefined || request.partitions.includes(partitionOf(session_id)));

// The codes with which a request is refused, by what it does.
import { REJECTIONS, type RejectionCode } from '../../../schemas/rejection.ts';

/** Every route with a token: host, origin, token, scope, room, and an engine that fails or closes. */
export const GUARDED = [
  'forbidden',
  'unauthorized',
  'forbidden_scope',
  'queue_full',
  'internal',
  'closing',
] as const satisfies readonly RejectionCode[];

/** A request without a token: it has a known Host, and no Origin but that of the page. */
export const UNGUARDED = ['forbidden', 'queue_full'] as const satisfies readonly RejectionCode[];

/** A path, query or header that is not of its shape. */
export const SHAPED = ['invalid_shape'] as const satisfies readonly RejectionCode[];

/** A body of JSON. */
export const JSON_BODY = [
  'malformed_json',
  'too_large',
  'too_deep',
  'duplicate_key',
  'invalid_value',
  'invalid_shape',
] as const satisfies readonly RejectionCode[];

/** Storage that is read. */
export const READS = ['storage_failed', 'damaged', 'outdated'] as const satisfies readonly RejectionCode[];

/** Storage that is written. */
export const WRITES = [...READS, 'storage_full', 'storage_unknown'] as const satisfies readonly RejectionCode[];

/** One session. */
export const OF_SESSION = [
  ...SHAPED,
  ...READS,
  'unknown_session',
  'session_deleted',
  'rules_unknown',
  'too_many_active_sessions',
] as const satisfies readonly RejectionCode[];

/** Events: any of them may be refused for what the session is. */
export const OF_EVENTS = Object.keys(REJECTIONS) as readonly RejectionCode[];

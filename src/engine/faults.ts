// Classifies failures: whether anything was recorded, and whether a later attempt may succeed.
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';

/** Nothing was recorded and the state still agrees with the journal. */
export const recordedNothing = (code: RejectionCode): boolean => RECORDED_NOTHING.has(code);

const RECORDED_NOTHING: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'storage_failed',
  'storage_full',
  'queue_full',
  'too_large',
  'closing',
]);

/** A later attempt may succeed. */
export const isTransient = (code: RejectionCode): boolean => TRANSIENT.has(code);

const TRANSIENT: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'queue_full',
]);

/** An internal error before anything was written. Its own message is not reported: it may name paths of the machine. */
export const stepFault = (): Rejection =>
  reject('storage_failed', '', 'the request failed inside the engine; nothing was recorded, so it may be sent again');

/** An internal error during a write. */
export const writeFault = (): Rejection =>
  reject(
    'storage_unknown',
    '',
    'the request failed inside the engine during a write; look the event id up before you send it again',
  );

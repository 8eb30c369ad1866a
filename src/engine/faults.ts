// What a failure means for the caller, and for the session in which it happened.
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

/** A fault of ours, before anything was written. The error itself is not reported: it may name paths of the machine. */
export const stepFault = (): Rejection =>
  reject('storage_failed', '', 'the request failed inside the engine; nothing was recorded');

/** A fault of ours during a write. */
export const writeFault = (): Rejection =>
  reject(
    'storage_unknown',
    '',
    'the request failed inside the engine during a write; look the event id up before you send it again',
  );

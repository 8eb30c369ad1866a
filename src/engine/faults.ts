// Classifies failures: whether anything was recorded, and whether a later attempt may succeed.
import type { SessionId } from '../../schemas/ids.ts';
import { type Rejection, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { whatFailed } from '../files/file-failure.ts';

/** Something of the engine's own that failed: an error inside it, or what it wanted to write or read itself. */
export interface EngineFault {
  /** Null when it concerns no session, or an unknown one. */
  readonly session_id: SessionId | null;
  /** What the engine was doing, as in "writing a snapshot". */
  readonly doing: string;
  /** Why it failed, in plain words. */
  readonly reason: string;
}

/** Tells the operator of a fault. Must not throw. */
export type TellFault = (fault: EngineFault) => void;

/** Tells of an error, with where it arose: it is a defect, and its stack is what a report of it needs. */
export function tellError(tell: TellFault, session_id: SessionId | null, doing: string, error: unknown): void {
  const at = error instanceof Error ? (error.stack?.split('\n')[1]?.trim() ?? '') : '';
  tell({ session_id, doing, reason: at === '' ? whatFailed(error) : `${whatFailed(error)} (${at})` });
}

/** Most faults that are remembered so as not to be told again. */
const FAULTS_KEPT = 256;

/** Tells each fault once: what is tried again every second may fail for hours. */
export function tellOnce(tell: TellFault): TellFault {
  const told = new Set<string>();
  return (fault) => {
    const key = `${fault.session_id} ${fault.doing} ${fault.reason}`;
    if (told.has(key)) return;
    told.add(key);
    const [oldest] = told;
    if (told.size > FAULTS_KEPT && oldest !== undefined) told.delete(oldest);
    tell(fault);
  };
}

/** Nothing was recorded and the state still agrees with the journal. */
export const recordedNothing = (code: RejectionCode): boolean => RECORDED_NOTHING.has(code);

const RECORDED_NOTHING: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'internal',
  'storage_failed',
  'storage_full',
  'queue_full',
  'too_large',
  'closing',
]);

/** A later attempt may succeed. */
export const isTransient = (code: RejectionCode): boolean => TRANSIENT.has(code);

const TRANSIENT: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'internal',
  'storage_failed',
  'storage_full',
  'storage_unknown',
  'queue_full',
]);

/** An internal error before anything was written. Its own message is not reported: it may name paths of the machine. */
export const stepFault = (): Rejection =>
  reject('internal', '', 'the request failed inside the engine; nothing was recorded, so it may be sent again');

/** An internal error during a write. */
export const writeFault = (): Rejection =>
  reject(
    'storage_unknown',
    '',
    'the request failed inside the engine during a write; look the event id up before you send it again',
  );

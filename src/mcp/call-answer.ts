// What becomes of a call of a host, as the host is told of it.
import type { CallId } from '../../schemas/ids.ts';
import { HOST_CALLS_WAITING_MAX } from '../../schemas/limits.ts';
import { RejectedError } from '../client/rejected-error.ts';
import type { PersonEffect } from '../core/status.ts';
import type { EndedCall } from './call-ends.ts';

/** A call that has not ended. */
export interface OpenCall {
  /** The id under which the host made it. */
  readonly handle: CallId;
  readonly made_at_ms: number;
  /** When its session changed last. */
  readonly changed_at_ms: number;
  /** What it waits for a person for; null when it does not. */
  readonly action: PersonEffect | null;
}

/** What a call waits behind: one that waits for a person, or one that goes on as a task. */
export type Behind = { readonly action: PersonEffect } | { readonly task: CallId };

/** What becomes of a call for now. */
export type CallAnswer =
  | { readonly kind: 'ended'; readonly call: EndedCall }
  /** A person is asked about this very call. */
  | { readonly kind: 'asks'; readonly action: PersonEffect }
  /** It goes on, and the host comes back for it. */
  | { readonly kind: 'task'; readonly call: OpenCall }
  /** It waits behind another one, or was not made because of it. */
  | { readonly kind: 'busy'; readonly behind: Behind }
  /** It was not made. */
  | { readonly kind: 'refused'; readonly code: string; readonly why: string };

/** A call of the session: one that has ended, or one that has not. */
export type FoundCall = Extract<CallAnswer, { readonly kind: 'ended' | 'task' }>;

export const refusedCall = (code: string, why: string): CallAnswer => ({ kind: 'refused', code, why });

export function refusal(error: unknown): CallAnswer {
  const code = error instanceof RejectedError ? error.rejection.code : 'internal';
  return refusedCall(code, error instanceof Error ? error.message : String(error));
}

export const FULL = refusedCall(
  'queue_full',
  `${HOST_CALLS_WAITING_MAX} calls wait already; call again when some of them have ended`,
);

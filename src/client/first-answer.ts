// Who answered a question first: what a person is told whose answer came too late.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { BatchId, CallId, SessionId } from '../../schemas/ids.ts';
import { type StreamEvent, eventsIn, versionAfter } from '../../schemas/record.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { EngineClient } from './client.ts';

export interface FirstAnswer {
  readonly position: number;
  readonly at_ms: number;
  /** The person; null when the answer names none, or no person gave it. */
  readonly by: string | null;
  /** In words: `allowed`, `denied`, `answered`, `expired`, `cancelled with its run`. */
  readonly what: string;
  readonly message: string | null;
}

/** Whether an answer was refused because its call does not wait any more. */
export const isLate = ({ code }: Rejection): boolean => LATE.has(code);

/** The refusals of an answer to a call that does not wait any more. */
const LATE: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'batch_not_active',
  'call_already_settled',
  'not_answerable',
  'not_confirmable',
  'run_not_active',
  'unknown_call',
  'wrong_batch',
]);

/** Events that are looked at for the first answer. */
const LOOKED_AT_MAX = 20_000;

interface AnsweredCall {
  readonly call_id: CallId;
  /** Any batch when it is absent; then only an answer counts, and no other end of the question. */
  readonly batch_id?: BatchId;
  /** The position from which on the answer is looked for. */
  readonly from: number;
}

/** The first event since a position that answers the call; else the first that may have taken it away. */
export async function firstAnswer(
  client: Pick<EngineClient, 'records'>,
  id: SessionId,
  call: AnsweredCall,
): Promise<FirstAnswer | null> {
  let other: FirstAnswer | null = null;
  for (let { from } = call; from < call.from + LOOKED_AT_MAX;) {
    const page = await client.records(id, from)();
    if (isLeft(page)) break;
    for (const record of page.right) {
      if (record.kind !== 'commit') continue;
      from = versionAfter(record);
      for (const recorded of eventsIn(record)) {
        if (recorded.position < call.from) continue;
        const found = answerIn(recorded, call);
        if (found !== null) return found;
        if (call.batch_id !== undefined) other ??= endIn(recorded);
      }
    }
    if (page.right.at(-1)?.kind !== 'commit') break;
  }
  return other;
}

function answerIn({ position, event }: StreamEvent, { batch_id, call_id }: AnsweredCall): FirstAnswer | null {
  if (event.kind !== 'user.tool_confirmation' && event.kind !== 'user.custom_tool_result') return null;
  if (event.call_id !== call_id || (batch_id !== undefined && event.batch_id !== batch_id)) return null;
  const { at_ms, by = null } = event;
  if (event.kind === 'user.custom_tool_result') return { position, at_ms, by, what: 'answered', message: null };
  const what = event.result === 'allow' ? 'allowed' : 'denied';
  return { position, at_ms, by, what, message: event.message ?? null };
}

/** An event that takes questions away without answering one. */
function endIn({ position, event }: StreamEvent): FirstAnswer | null {
  const { at_ms } = event;
  const by = 'by' in event ? (event.by ?? null) : null;
  const what = ENDS[event.kind];
  return what === undefined ? null : { position, at_ms, by, what, message: null };
}

const ENDS: Readonly<Partial<Record<StreamEvent['event']['kind'], string>>> = {
  TimeReached: 'expired',
  'user.interrupt': 'cancelled with its run',
  RunCancelled: 'cancelled with its run',
  RunCompleted: 'cancelled with its run',
  RunFailed: 'cancelled with its run',
  ConsentPolicySet: 'decided by a new policy',
  ToolRegistrySet: 'decided by other tools',
  ToolsetSet: 'decided by other tools',
  ToolsetRemoved: 'decided by other tools',
  ToolOverridesSet: 'decided by other tools',
};

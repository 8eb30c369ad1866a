// Law 4, settle once: an event that is sent again under its id is not refused; it gets its first answer.
import { isRight } from 'fp-ts/lib/Either.js';
import type { EventId, SessionId } from '../../../schemas/ids.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';
import type { Submit } from '../../../schemas/wire.ts';
import type { Exchange } from '../sim-network.ts';
import type { Judge } from './judge.ts';

export interface RepeatLaw {
  /** An event became durable. */
  recorded(session: SessionId, event: EventId, atMs: number): void;
  answered(exchange: Exchange): void;
}

/** What an engine may answer to a request that it has recorded: it cannot tell now, or the sender changed the event. */
const NO_ANSWER: ReadonlySet<RejectionCode> = new Set([
  'closing',
  'damaged',
  'event_id_reused',
  'queue_full',
  'internal',
  'storage_failed',
  'storage_full',
  'storage_unknown',
]);

export function newRepeatLaw(judge: Judge): RepeatLaw {
  const recordedMs = new Map<string, number>();
  return {
    recorded: (session, event, atMs) => recordedMs.set(`${session} ${event}`, atMs),
    answered({ from, method, request, answer, deliveredMs }) {
      if (method !== 'submit' || isRight(answer) || NO_ANSWER.has(answer.left.code)) return;
      const [session, { events }] = request as [SessionId, Submit];
      // Events that were all durable when the request arrived had been sent before.
      const known = events.map(({ event_id }) => recordedMs.get(`${session} ${event_id ?? ''}`) ?? Infinity);
      const again = known.length > 0 && known.every((atMs) => atMs < deliveredMs);
      const what = events.map(({ kind, event_id }) => `${kind} ${event_id ?? ''}`).join(', ');
      judge.check(
        !again,
        'settle once',
        () => `${from} sent ${what} again, which is recorded, and was refused: ${answer.left.code}`,
      );
    },
  };
}

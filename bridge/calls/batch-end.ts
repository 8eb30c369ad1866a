// The event that ends a batch, sent together with its last settlements: one durable write instead of two.
import { isRight } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import { type BatchId, type Digest, type SessionId, brand } from '../../schemas/ids.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { Report } from '../engine-link/outbox.ts';
import type { CallSchedule } from './call-schedule.ts';

/** The same event whether it accompanies the last settlements or answers the engine's `batch.settle`. */
export const batchSettled = (batch_id: BatchId, plan_hash: Digest): Ingress => ({
  kind: 'ToolBatchSettled',
  event_id: eventIdOf(brand(`${batch_id}/settle`), 'settled'),
  batch_id,
  plan_hash,
});

/** The ends of the batches that these settlements complete. One is refused when the run was ended meanwhile. */
export const batchEndsOf =
  (schedule: CallSchedule) =>
  (session: SessionId, events: readonly Ingress[]): readonly Report[] =>
    schedule.endedBy(session, events).map((batch) => ({
      event: batchSettled(batch.batch_id, batch.plan_hash),
      answered: (answer) => {
        if (isRight(answer)) schedule.forget(batch);
      },
    }));

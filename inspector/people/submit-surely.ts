// Submits one event until the engine has answered: it is sent again under the same event id while the engine is away, so that
// it counts at most once.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Ingress } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import type { SubmitReceipt } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';

/** After so long without an answer the person is told that it is not known whether the event was recorded. */
const PATIENCE_MS = 60_000;
const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 2_000;

export async function submitSurely(
  client: Pick<EngineClient, 'submit'>,
  id: SessionId,
  event: Ingress,
): Promise<Either<Rejection, SubmitReceipt>> {
  const named = { ...event, event_id: brand<'EventId'>(`page-${crypto.randomUUID()}`) };
  const until = performance.now() + PATIENCE_MS;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const answer = await client.submit(id, { events: [named] })();
    if (!isLeft(answer) || !AGAIN.has(answer.left.code) || performance.now() + pauseMs > until) return answer;
    await new Promise((resolve) => void setTimeout(resolve, pauseMs));
  }
}

/** The engine is away, or does not know whether the event was recorded. */
const AGAIN: ReadonlySet<RejectionCode> = new Set<RejectionCode>([
  'closing',
  'internal',
  'queue_full',
  'storage_failed',
  'storage_full',
  'storage_unknown',
]);

// Reports the start of a call to the engine, and where the call would run: what a person allowed in one place must not run
// unasked in another (docs/consent.md).
import { type Either, isLeft, isRight } from 'fp-ts/lib/Either.js';
import type { OwnerId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { HostPlace } from '../../schemas/tool-set.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import type { Outbox } from '../engine-link/outbox.ts';
import type { Executors } from '../executors/executors.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { HeldCall, ToolCall } from './held-call.ts';
import type { PlanCheck } from './plan-check.ts';

interface CallStartsOptions {
  readonly owner: OwnerId;
  readonly nonce: string;
  readonly executors: Executors;
  readonly redactor: Redactor;
  readonly planCheck: PlanCheck;
  readonly outbox: Outbox;
}

export interface CallStarts {
  /** Makes the start durable if it must be before the call runs; returns false when the engine did not record it. */
  record(call: HeldCall): Promise<boolean>;
  /** Makes the start durable in any case: only a running call may ask, or note what it waits for. */
  readonly recordAnyway: (call: HeldCall) => Promise<boolean>;
}

export function newCallStarts(options: CallStartsOptions): CallStarts {
  const { owner, nonce, executors, redactor, planCheck, outbox } = options;
  let placesTold = 0;

  async function record(call: HeldCall): Promise<boolean> {
    const { effect, batch } = call;
    // A read is on record too if a person or a grant allowed it: that counts only in the place where it was given.
    if (effect.read_only && planCheck.consentOf(effect, batch.plan) === null) return true;
    return await recordAnyway(call);
  }

  async function recordAnyway(call: HeldCall): Promise<boolean> {
    const { effect } = call;
    const at = executors.find(effect.tool_id)?.place;
    const place = at === undefined ? undefined : redactor.value(at);
    let answer = await reportStart(effect, place);
    // What was allowed elsewhere asks again once the place is known; what asks no one starts.
    if (place !== undefined && isLeft(answer) && answer.left.code === 'other_place') {
      if (await reportPlace(effect, place)) answer = await reportStart(effect, place);
    }
    call.started = isRight(answer);
    return call.started;
  }

  async function reportStart(effect: ToolCall, place: HostPlace | undefined): Promise<Either<Rejection, void>> {
    const { effect_id, session_id, batch_id, call_id, plan_hash, attempt } = effect;
    return await outbox.report(
      session_id,
      {
        kind: 'ToolCallStarted',
        // Different in every process: a second bridge must be refused, not given the first bridge's answer.
        event_id: eventIdOf(effect_id, `started/${nonce}`),
        batch_id,
        call_id,
        plan_hash,
        attempt,
        owner,
        ...(place === undefined ? {} : { place }),
      },
      effect_id,
    );
  }

  async function reportPlace({ session_id, effect_id }: ToolCall, place: HostPlace): Promise<boolean> {
    placesTold += 1;
    const event_id = eventIdOf(effect_id, `place/${nonce}/${placesTold}`);
    const event = { kind: 'HostSessionUpdated', event_id, host_session: place } as const;
    return isRight(await outbox.report(session_id, event, effect_id));
  }

  return { record, recordAnyway };
}

// Reports to the engine, in order within each session. Reports made while a submission is in flight are sent together in
// the next one, so a burst of settlements costs one durable write.
import { type Either, isLeft, isRight, right } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { EffectId, OwnerId, SessionId } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { HeldLease } from '../../schemas/wire.ts';
import { newSessionQueues } from './session-queues.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { HeldLeases } from './held-leases.ts';
import type { Link } from './link.ts';
import type { Log } from '../log.ts';
import type { SubmitGrants } from './submit-grants.ts';

type Answer = Either<Rejection, void>;

export interface Outbox {
  /** Right: the event is durable. Left is final: the engine refused this event. `effect`: the effect it reports on. */
  report(session: SessionId, event: Ingress, effect?: EffectId): Promise<Answer>;
}

interface OutboxOptions {
  readonly client: EngineClient;
  readonly owner: OwnerId;
  readonly link: Link;
  readonly log: Log;
  readonly leases: Pick<HeldLeases, 'epochOf' | 'confirm'>;
  readonly clock: Pick<BridgeClock, 'now' | 'soon'>;
  /** Reports to send together with these events: the ends of the batches that they complete. */
  readonly companions: (session: SessionId, events: readonly Ingress[]) => readonly Report[];
  /** Requests effects with the answer to a report; null: none are requested. */
  readonly submitGrants: SubmitGrants | null;
}

/** An event to send, and what it reports on. */
export interface Report {
  readonly event: Ingress;
  readonly effect?: EffectId | undefined;
  readonly answered: (answer: Answer) => void;
}

export function newOutbox(options: OutboxOptions): Outbox {
  const { client, owner, link, clock, log, leases, companions, submitGrants } = options;
  async function send(session: SessionId, group: readonly Report[]): Promise<void> {
    const extra = companions(session, eventsOf(group));
    const together = extra.length === 0 ? null : await submit(session, [...group, ...extra]);
    if (together !== null && isRight(together)) {
      for (const report of [...group, ...extra]) report.answered(together);
      return;
    }
    await sendPlain(session, group);
    for (const companion of extra) {
      const isFinal = together !== null && isLeft(together) && isAbout(together.left, group.length);
      companion.answered(isFinal ? together : await submit(session, [companion]));
    }
  }

  // The engine accepts all events of a request or none; one stale report must not prevent the others.
  async function sendPlain(session: SessionId, group: readonly Report[]): Promise<void> {
    const answer = await submit(session, group);
    if (isRight(answer) || group.length === 1) {
      for (const report of group) passAnswer(session, report, answer);
      return;
    }
    for (const report of group) passAnswer(session, report, await submit(session, [report]));
  }

  function passAnswer(session: SessionId, report: Report, answer: Answer): void {
    if (isLeft(answer)) {
      const { kind, event_id = '' } = report.event;
      const { code, message } = answer.left;
      log({ event: 'report_refused', session_id: session, kind, event_id, code, message });
    }
    report.answered(answer);
  }

  async function submit(session: SessionId, reports: readonly Report[]): Promise<Answer> {
    const events = eventsOf(reports);
    const lease = submitGrants?.ask(events) ?? null;
    let sentAtMs = 0;
    const answer = await link.ask('submit', () => {
      sentAtMs = clock.now();
      // Looked up for each attempt: an engine that restarted may have granted the effects again, under other epochs.
      const request = { events, owner, leases: namedLeases(session, reports) };
      if (lease === null) return client.submit(session, request);
      submitGrants?.sent(lease);
      return client.submit(session, { ...request, lease });
    });
    if (lease !== null) submitGrants?.answered(lease, isRight(answer) ? answer.right.granted : undefined);
    if (isLeft(answer)) return answer;
    for (const { effect: effect_id } of reports) {
      if (effect_id !== undefined) leases.confirm({ session_id: session, effect_id }, sentAtMs);
    }
    return right(undefined);
  }

  function namedLeases(session_id: SessionId, reports: readonly Report[]): readonly HeldLease[] {
    const named: HeldLease[] = [];
    for (const { effect: effect_id } of reports) {
      if (effect_id === undefined) continue;
      const epoch = leases.epochOf({ session_id, effect_id });
      if (epoch !== undefined) named.push({ effect_id, epoch });
    }
    return named;
  }

  const queues = newSessionQueues(send, (fn) => clock.soon(fn));
  return {
    report: (session, event, effect) =>
      new Promise((answered) => {
        queues.add(session, { event, effect, answered });
      }),
  };
}

/** Whether the engine refused a request for one of its events from this index on: such a refusal is final for them. */
const isAbout = ({ path }: Rejection, first: number): boolean =>
  Number(/^\/events\/(\d+)/.exec(path)?.[1] ?? -1) >= first;

const eventsOf = (reports: readonly Report[]): readonly Ingress[] => reports.map(({ event }) => event);

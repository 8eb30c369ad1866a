// How often bridges lost the request to the model that a session owes now. Each loss may have cost an answer, and the request is
// owed again, so at a limit the engine reports it as failed. The count is no fact of the session and is in memory only, as
// leases are; what bounds the run is the report, an event (docs/design.md, law 2).
import type { EventOfKind, Ingress } from '../../../schemas/event.ts';
import type { EffectId, SessionId } from '../../../schemas/ids.ts';
import { ANSWERS_LOST_MAX } from '../../../schemas/limits.ts';
import type { BridgeEffect } from './owed-effects.ts';

type Unrecorded<Kind extends 'GenerateFailed' | 'CompactFailed'> = Omit<EventOfKind<Kind>, 'v' | 'at_ms' | 'event_id'>;
export type AnswerLost = Unrecorded<'GenerateFailed'> | Unrecorded<'CompactFailed'>;

export class LostAnswers {
  /** A session owes at most one request to a model at a time. */
  readonly #counts = new Map<SessionId, { readonly effect: EffectId; losses: number }>();

  readonly #reports = new WeakSet<object>();

  /** Counts a loss; the report that the session is due when there were too many, else null. */
  add(session: SessionId, effect: BridgeEffect | undefined): AnswerLost | null {
    if (effect?.kind !== 'llm.generate' && effect?.kind !== 'llm.compact') return null;
    const known = this.#counts.get(session);
    const count = known?.effect === effect.effect_id ? known : { effect: effect.effect_id, losses: 0 };
    this.#counts.set(session, count);
    count.losses += 1;
    if (count.losses < ANSWERS_LOST_MAX) return null;
    const kind = effect.kind === 'llm.generate' ? 'GenerateFailed' : 'CompactFailed';
    const { run_id, turn } = effect;
    const report = { kind, run_id, turn, code: 'bridges_lost', message: ADVICE, retryable: false } as const;
    this.#reports.add(report);
    return report;
  }

  /** Whether this very object is a report that was made here, which needs no lease. */
  made(event: Ingress): boolean {
    return this.#reports.has(event);
  }

  /** Nothing is owed any more. */
  forget(session: SessionId): void {
    this.#counts.delete(session);
  }
}

const ADVICE = `${ANSWERS_LOST_MAX} bridges lost their lease on this request before they answered it, and each may have paid for an answer; read the logs of the bridges for what ends them, then start a new run`;

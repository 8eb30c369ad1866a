// Finds the effect that an event reports on.
import type { Ingress, IngressEvent } from '../../../schemas/event.ts';
import { type BatchId, type CallId, type EffectId, type RunId, brand } from '../../../schemas/ids.ts';
import { type RunState, isExternal } from '../../../schemas/run.ts';
import type { Submit } from '../../../schemas/wire.ts';

/** A report on an effect: which one, and whether the report ends it. */
export interface ReportOn {
  readonly effect: EffectId;
  readonly answers: boolean;
}

/**
 * Null when the event is no report. `run`: the live run, if any; it says how often the request to the model that is owed now
 * has failed before, and that of an external run nothing is owed that its calls could answer.
 */
export function reportOn(event: Ingress | IngressEvent, run: ReportedRun | null): ReportOn | null {
  if ('turn' in event) {
    if (run !== null && isExternal(run)) return null;
    const retries = run?.retry?.failures ?? 0;
    const compact = event.kind === 'ContextCompacted' || event.kind === 'CompactFailed' ? '/compact' : '';
    const retry = retries === 0 ? '' : `/retry-${retries}`;
    return { effect: brand(`${event.run_id}/turn-${event.turn}${compact}${retry}`), answers: true };
  }
  if (event.kind === 'ToolBatchSettled') return { effect: brand(`${event.batch_id}/settle`), answers: true };
  if (event.kind === 'ToolCallStarted' || event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') {
    return { effect: effectOfCall(event), answers: event.kind !== 'ToolCallStarted' };
  }
  if (event.kind === 'ToolCallNoted') return { effect: effectOfCall(event), answers: false };
  // With what the next attempt gets, the attempt is over.
  if (event.kind === 'ToolCallAsked') return { effect: effectOfCall(event), answers: event.resume !== undefined };
  if (event.kind === 'CallPreviewed') return { effect: effectOfPreview(event), answers: true };
  if (event.kind === 'UndoSettled') return { effect: brand(`undo/${event.position}`), answers: true };
  return null;
}

type ReportedRun = Pick<RunState, 'config' | 'retry'>;

interface CallReport {
  readonly batch_id: BatchId;
  readonly call_id: CallId;
  readonly attempt: number;
}

/** The id of a call's effect, as `effects(state)` makes it. */
export const effectOfCall = ({ batch_id, call_id, attempt }: CallReport): EffectId =>
  brand(`${batch_id}/${call_id}/${attempt}`);

/** The id of the effect of a preview, as `effects(state)` makes it. */
const effectOfPreview = (report: CallReport): EffectId => brand(`${effectOfCall(report)}/preview`);

/**
 * Whether a batch is settled by the request that also settles a call of it: then no bridge can hold the end of the batch
 * before the request, and the bridge that holds the call reports both.
 */
export const endsItsBatch = (event: Ingress, { events }: Pick<Submit, 'events'>): boolean =>
  event.kind === 'ToolBatchSettled' &&
  events.some((other) => other.kind === 'ToolCallSettled' && other.batch_id === event.batch_id);

/** The id of the opening of a host session, which a bridge reports with `HostSessionUpdated`. */
export const openingOf = (run: RunId | undefined): EffectId => brand(`${run ?? 'no-run'}/open`);

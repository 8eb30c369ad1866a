// The judge of a recorded log: whether its events and plans keep the laws that a log alone can show (docs/design.md, "Laws on
// record"). The fold refuses most breaches, so this check is for logs of another build, for a fold that is wrong, and for
// proof: it reads the record again and asks neither admission nor the planner.
import { LAW_BREACHES_MAX } from '../../schemas/limits.ts';
import { checkAnswers } from './laws/answered-by-digest.ts';
import { checkBeganOnce } from './laws/began-once.ts';
import type { LawBreach, LawCase, LawOfRecord } from './laws/breach.ts';
import { checkDenyWon } from './laws/deny-won.ts';
import { checkMeasured } from './laws/measured.ts';
import { checkOneResult } from './laws/one-result.ts';
import { checkPlanKept } from './laws/plan-kept.ts';
import { checkNotedAwaited, checkQuestionsKept } from './laws/questions-kept.ts';
import { checkGoesOn } from './laws/run-goes-on.ts';
import { type Reading, advance, isSameCall, newReading } from './laws/reading.ts';
import { resultsBy } from './laws/results.ts';
import type { FoldedEvent } from './folded-event.ts';

/** Judges a stream event by event, from its first; it keeps what is known of the open batch, and the first breaches. */
export interface LawCheck {
  add(folded: FoldedEvent): void;
  /** The first `LAW_BREACHES_MAX` breaches, in order of position. */
  breaches(): readonly LawBreach[];
  /** All breaches so far, also those that are not kept. */
  count(): number;
}

const LAWS: readonly LawOfRecord[] = [
  checkPlanKept,
  checkOneResult,
  checkAnswers,
  checkBeganOnce,
  checkDenyWon,
  checkGoesOn,
  checkQuestionsKept,
  checkNotedAwaited,
  checkMeasured,
];

export function newLawCheck(): LawCheck {
  const reading = newReading();
  const kept: LawBreach[] = [];
  let count = 0;
  return {
    add(folded) {
      const judged = caseOf(folded, reading);
      for (const law of LAWS) {
        const found = law(judged);
        count += found.length;
        kept.push(...found.slice(0, LAW_BREACHES_MAX - kept.length));
      }
      advance(reading, folded, judged.results);
    },
    breaches: () => [...kept],
    count: () => count,
  };
}

function caseOf(folded: FoldedEvent, reading: Reading): LawCase {
  const { event } = folded;
  const named = 'batch_id' in event ? event.batch_id : undefined;
  const batch = reading.open !== null && reading.open.batch_id === named ? reading.open : null;
  const call = batch !== null && 'call_id' in event ? (batch.byId.get(event.call_id) ?? null) : null;
  return {
    folded,
    reading,
    batch,
    call,
    detached: isOfDetached(folded, reading),
    results: resultsBy(folded, reading.open),
  };
}

const isOfDetached = ({ event }: FoldedEvent, { detached }: Reading): boolean =>
  (event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') &&
  detached.some((call) => isSameCall(call, event));

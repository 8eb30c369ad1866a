// Breaches planted in lawful streams: each kind looks for a place where it can be planted, and says what must be found.
import type { EventOfKind, IngressEvent, IngressKind, ToolBatchPlan, ToolId } from '../../../schemas/index.ts';
import { planHash } from '../../../reducers/planner.ts';
import { callStateOf, plannedOf } from '../../../reducers/batch-index.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import { eventOf } from '../../../src/testing/facts.ts';
import type { FoldedEvent, LawBreach } from '../../../src/core/index.ts';
import { ZERO_DIGEST } from '../session.ts';
import { type Recorded, foldAnything } from './recorded.ts';

export interface Planted {
  /** Folds the stream with the breach. */
  readonly fold: () => readonly FoldedEvent[];
  readonly due: Pick<LawBreach, 'law' | 'position' | 'against'> & { readonly call_id?: string };
}

/** Plants the breach in the stream, at every place where that is possible. */
export type Plant = (recorded: Recorded) => readonly Planted[];

type Report = Extract<IngressEvent, { readonly call_id: string; readonly batch_id: string }>;

/** An event of some kinds about a call of the open batch, and where that opened. */
interface Site<K extends IngressKind> extends Omit<FoldedEvent, 'event'> {
  readonly event: EventOfKind<K>;
  readonly openedAt: number;
}

function sites<K extends IngressKind>({ folded }: Recorded, ...kinds: readonly K[]): readonly Site<K>[] {
  const opened = new Map<string, number>();
  return folded.flatMap((one) => {
    const { event, position, before, after } = one;
    const made = after.active_tool_batch?.batch_id;
    if (made !== undefined && !opened.has(made)) opened.set(made, position);
    const open = before.active_tool_batch?.batch_id;
    const named = 'batch_id' in event && event.batch_id === open;
    if (open === undefined || !named || !kinds.includes(event.kind as K)) return [];
    return [{ ...one, event: event as EventOfKind<K>, openedAt: opened.get(open) as number }];
  });
}

const eventsOf = ({ folded }: Recorded): readonly IngressEvent[] => folded.map(({ event }) => event);

/** The stream with other events, folded again without admission. */
const refolded = (of: Recorded, events: readonly IngressEvent[]): readonly FoldedEvent[] => foldAnything(of, events);

const edited = (of: Recorded, position: number, change: object): readonly FoldedEvent[] =>
  refolded(of, eventsOf(of).with(position, { ...eventsOf(of)[position], ...change } as IngressEvent));

const isWork = (event: IngressEvent): boolean =>
  event.kind === 'ToolCallStarted' ||
  event.kind === 'user.custom_tool_result' ||
  (event.kind === 'ToolCallSettled' && (event.outcome ?? 'succeeded') !== 'cancelled' && event.outcome !== 'unknown');

const statusOf = ({ active_tool_batch: batch }: FoldedEvent['before'], { batch_id, call_id }: Report): string =>
  batch?.batch_id === batch_id ? (callStateOf(batch, call_id)?.status ?? 'none') : 'closed';

/** The event gives its call the result, and its batch stays open. */
const ends = ({ event, before, after }: FoldedEvent): boolean =>
  'call_id' in event &&
  'batch_id' in event &&
  !isTerminal(statusOf(before, event as Report) as never) &&
  ['succeeded', 'failed', 'cancelled', 'unknown'].includes(statusOf(after, event as Report));

const plannedIn = ({ before }: Pick<FoldedEvent, 'before'>, { call_id }: Report) =>
  before.active_tool_batch === null ? undefined : plannedOf(before.active_tool_batch.plan, call_id)?.call;

/** The first event at or after a position that says that this call began or returned something. */
const firstWork = ({ folded }: Recorded, { batch_id, call_id }: Report, from = 0): FoldedEvent | undefined =>
  folded.find(
    ({ event, position }) =>
      position >= from &&
      isWork(event) &&
      (event as Report).call_id === call_id &&
      (event as Report).batch_id === batch_id,
  );

export const PLANTS: Readonly<Record<string, Plant>> = {
  'a call begins before the result of one it waits for': (of) =>
    sites(of, 'ToolCallSettled').flatMap(({ event, position, before, after, openedAt, sealed }) => {
      if (!ends({ event, position, before, after, sealed })) return [];
      const waits: Readonly<Record<string, readonly string[]>> =
        before.active_tool_batch?.plan.execution_plan.after ?? {};
      const late = Object.keys(waits).filter((id) => waits[id]?.includes(event.call_id));
      return late.flatMap((id) => {
        const work = firstWork(of, { ...event, call_id: id } as Report);
        if (work === undefined || work.position < position) return [];
        const events = eventsOf(of).toSpliced(work.position, 1).toSpliced(position, 0, work.event);
        return [
          { fold: () => refolded(of, events), due: { law: 'plan_kept', position, against: openedAt, call_id: id } },
        ];
      });
    }),

  'a report names another plan': (of) =>
    sites(of, 'ToolCallStarted', 'ToolCallSettled', 'ToolBatchSettled').map(({ position, openedAt }) => ({
      fold: () => edited(of, position, { plan_hash: ZERO_DIGEST }),
      due: { law: 'plan_kept', position, against: openedAt },
    })),

  'a plan lets calls that conflict run together': ({ folded }) =>
    folded.flatMap(({ before, after, position }) => {
      const batch = after.active_tool_batch;
      if (batch === null || before.active_tool_batch !== null) return [];
      const late = Object.keys(batch.plan.execution_plan.after).find(
        (id) => (batch.plan.execution_plan.after[id] ?? []).length > 0,
      );
      if (late === undefined) return [];
      const { plan_hash: _hash, ...plan } = batch.plan;
      const execution_plan = { ...plan.execution_plan, after: { ...plan.execution_plan.after, [late]: [] } };
      const looser: ToolBatchPlan = { ...plan, execution_plan, plan_hash: planHash({ ...plan, execution_plan }) };
      const under = (state: FoldedEvent['before']): FoldedEvent['before'] =>
        state.active_tool_batch?.batch_id === batch.batch_id
          ? { ...state, active_tool_batch: { ...state.active_tool_batch, plan: looser } }
          : state;
      const lying = folded.map((one) => ({ ...one, before: under(one.before), after: under(one.after) }));
      return [{ fold: () => lying, due: { law: 'plan_kept', position, against: position } }];
    }),

  'a result comes twice': (of) =>
    sites(of, 'ToolCallSettled', 'user.custom_tool_result').flatMap((site) => {
      if (!ends(site)) return [];
      const { event, position } = site;
      const again = { ...event, event_id: 'again' } as never;
      const due = { law: 'one_result_in_call_order', position: position + 1, against: position } as const;
      return [{ fold: () => refolded(of, eventsOf(of).toSpliced(position + 1, 0, again)), due }];
    }),

  'a batch closes without a result': (of) =>
    sites(of, 'ToolCallSettled', 'user.custom_tool_result').flatMap((site) => {
      const { event, position, openedAt } = site;
      if (!ends(site)) return [];
      const closing = sites(of, 'ToolBatchSettled').find((other) => other.event.batch_id === event.batch_id);
      if (closing === undefined || isTimeBetween(of, position, closing.position)) return [];
      const { call_id } = event;
      const due = {
        law: 'one_result_in_call_order',
        position: closing.position - 1,
        against: openedAt,
        call_id,
      } as const;
      return [{ fold: () => refolded(of, eventsOf(of).toSpliced(position, 1)), due }];
    }),

  'the model reads two results in another order': (of) =>
    sites(of, 'ToolBatchSettled').flatMap(({ before, after, position, openedAt, sealed }) => {
      const { observed } = before.active_tool_batch ?? { observed: [] };
      const from = before.transcript.open.length;
      if (observed.length < 2 || sealed !== null) return [];
      const { open } = after.transcript;
      const swapped = open.with(from, open[from + 1] as never).with(from + 1, open[from] as never);
      const lying = { ...after, transcript: { ...after.transcript, open: swapped } };
      const folded = of.folded.with(position, { ...(of.folded[position] as FoldedEvent), after: lying });
      return [{ fold: () => folded, due: { law: 'one_result_in_call_order', position, against: openedAt } }];
    }),

  'a batch closes with the digest of other results': (of) =>
    sites(of, 'ToolBatchSettled').map(({ position, openedAt }) => ({
      fold: () => edited(of, position, { results_digest: ZERO_DIGEST }),
      due: { law: 'one_result_in_call_order', position, against: openedAt },
    })),

  'a call is recorded with the digest of other arguments': (of) =>
    of.folded.flatMap(({ event, position }) => {
      if (event.kind !== 'ToolCallsObserved') return [];
      const [first, ...rest] = event.calls;
      if (first?.arguments === undefined) return [];
      const calls = [{ ...first, arguments_digest: ZERO_DIGEST }, ...rest];
      const due = { law: 'measured_as_recorded', position, against: position } as const;
      return [{ fold: () => edited(of, position, { calls }), due }];
    }),

  'a person answers about other arguments': (of) =>
    sites(of, 'user.tool_confirmation', 'user.custom_tool_result').map(({ position, openedAt }) => ({
      fold: () => edited(of, position, { arguments_digest: ZERO_DIGEST }),
      due: { law: 'answered_by_digest', position, against: openedAt },
    })),

  'a call runs although no one answered the question about it': (of) =>
    sites(of, 'user.tool_confirmation').flatMap(({ event, position, openedAt }) => {
      const work = firstWork(of, event, position);
      if (event.result !== 'allow' || work === undefined) return [];
      if (isGrantedBetween(of, openedAt, work.position) || isTimeBetween(of, position, work.position)) return [];
      const due = { law: 'answered_by_digest', position: work.position - 1, against: openedAt } as const;
      return [{ fold: () => refolded(of, eventsOf(of).toSpliced(position, 1)), due }];
    }),

  'a call that must not be repeated begins twice': (of) =>
    sites(of, 'ToolCallStarted').flatMap((site) => {
      const { event, position } = site;
      if (plannedIn(site, event)?.repeatable !== false) return [];
      const again = { ...event, event_id: 'again' } as never;
      const due = { law: 'began_once', position: position + 1, against: position } as const;
      return [{ fold: () => refolded(of, eventsOf(of).toSpliced(position + 1, 0, again)), due }];
    }),

  'a call that must not be repeated has a second attempt': (of) =>
    sites(of, 'ToolCallSettled').flatMap((site) => {
      const { event, position, openedAt } = site;
      // A second attempt continues what an earlier one left.
      if (!isWork(event) || event.attempt > 1 || plannedIn(site, event)?.repeatable !== false) return [];
      const began = of.folded.find(
        (one) => one.event.kind === 'ToolCallStarted' && isSame(one.event, event) && one.position < position,
      );
      const due = { law: 'began_once', position, against: began?.position ?? openedAt } as const;
      return [{ fold: () => edited(of, position, { attempt: 2 }), due }];
    }),

  'a call asks while its question is open': (of) =>
    sites(of, 'ToolCallAsked').flatMap(({ event, position, after }) => {
      const { active_tool_batch: batch } = after;
      if (batch === null || callStateOf(batch, event.call_id)?.question === undefined) return [];
      const again = { ...event, event_id: 'again' } as never;
      const due = { law: 'questions_kept', position: position + 1, against: position } as const;
      return [{ fold: () => refolded(of, eventsOf(of).toSpliced(position + 1, 0, again)), due }];
    }),

  'a call runs that a person denied': (of) =>
    sites(of, 'user.tool_confirmation').flatMap(({ event, position }) => {
      const work = firstWork(of, event, position);
      if (event.result !== 'allow' || work === undefined) return [];
      const { grant: _grant, ...rest } = event;
      const denied = { ...rest, result: 'deny' } as IngressEvent;
      const due = { law: 'deny_won', position: work.position, against: position } as const;
      return [{ fold: () => refolded(of, eventsOf(of).with(position, denied)), due }];
    }),

  'a tool is planned that the policy denies': (of) =>
    opened(of, (tool_id, before) => {
      const policy = before.consent?.policy;
      if (policy === undefined) return null;
      const stricter = { ...policy, tools: { ...policy.tools, [tool_id]: 'deny' as const } };
      const event = eventOf('ConsentPolicySet', { policy: stricter }, 999_999) as IngressEvent;
      return { event, after: { ...before, consent: { grants: [], policy: stricter } } };
    }),

  'a tool is planned that is disabled': (of) =>
    opened(of, (tool_id, before) => {
      const session = { enable: [], disable: [tool_id], force: [] };
      const event = eventOf('ToolOverridesSet', { scope: 'session', disable: [tool_id] }, 999_999) as IngressEvent;
      return { event, after: { ...before, tool_overrides: { ...before.tool_overrides, session } } };
    }),
};

/** Some answer carries a grant, which may cover other calls. */
const isGrantedBetween = ({ folded }: Recorded, from: number, to: number): boolean =>
  folded.slice(from, to).some(({ event }) => event.kind === 'user.tool_confirmation' && event.grant !== undefined);

/** A time is reached, which may end a call that waits. */
const isTimeBetween = ({ folded }: Recorded, from: number, to: number): boolean =>
  folded.slice(from, to).some(({ event }) => event.kind === 'TimeReached');

const isSame = (a: Report, b: Report): boolean => a.call_id === b.call_id && a.batch_id === b.batch_id;

type Denying = (tool_id: ToolId, before: FoldedEvent['before']) => Pick<FoldedEvent, 'event' | 'after'> | null;

/** Inserts a denial of a tool before each batch that plans a call of it; the plan stays as it is. */
const opened = ({ folded }: Recorded, denying: Denying): readonly Planted[] =>
  folded.flatMap((one) => {
    const { before, after, position, event } = one;
    const [first] = after.active_tool_batch?.plan.planned_calls ?? [];
    if (event.kind !== 'ToolCallsObserved' || first === undefined) return [];
    const denial = denying(first.tool_id, before);
    if (denial === null) return [];
    const inserted = { ...denial, position, before, sealed: null };
    const lying = folded.with(position, { ...one, before: denial.after }).toSpliced(position, 0, inserted);
    const due = { law: 'deny_won', position: position + 1, against: position, call_id: first.call_id } as const;
    return [{ fold: () => lying, due }];
  });

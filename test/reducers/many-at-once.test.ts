// One event that changes many calls of a batch: an interrupt, a grant, or a time that is due for all of them.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SessionState, limits } from '../../schemas/index.ts';
import { ASKS_WRITE, asking, calling, statuses } from '../support/consent.ts';
import { roundsOf } from '../support/random.ts';
import { type Session, call } from '../support/session.ts';
import { BARRIER, FREE, READ, WRITE, tool } from '../support/tools.ts';

const WITHIN = 1_000;
const BY_A_PERSON = { ownership: 'custom', executor: { kind: 'custom' }, answer_within_ms: WITHIN } as const;
const TIMED = tool('timed', { ...BY_A_PERSON, parallelism_hint: WRITE.parallelism_hint });
const ASKS_TIMED = tool('asks_timed', {
  ...BY_A_PERSON,
  permission_policy: 'always_ask',
  parallelism_hint: WRITE.parallelism_hint,
});
/** A tool whose calls may share one answer. */
const LOOKS = tool('looks', {
  ...BY_A_PERSON,
  read_only: true,
  open_world: false,
  destructive: false,
  parallelism_hint: READ.parallelism_hint,
});
const TOOLS = [READ, WRITE, FREE, BARRIER, ASKS_WRITE, ASKS_TIMED, TIMED, LOOKS];

/** The calls that a call waits for, by the definition: behind one that never waited, also what that one waits for. */
function waitsOf({ plan, observed, pages }: Batch, id: string): readonly string[] {
  const statusOf = (other: string): string => {
    const at = observed.findIndex(({ call_id }) => call_id === other);
    return pages.flat()[at]?.status ?? '';
  };
  return (Object.entries(plan.execution_plan.after).find(([later]) => later === id)?.[1] ?? []).flatMap((earlier) => {
    const status = statusOf(earlier);
    if (['waiting', 'queued', 'running'].includes(status)) return [earlier];
    return ['denied', 'cancelled', 'unknown'].includes(status) ? waitsOf({ plan, observed, pages }, earlier) : [];
  });
}

type Batch = Pick<NonNullable<SessionState['active_tool_batch']>, 'plan' | 'observed' | 'pages'>;

/** The queued calls that have a time although they wait for a call, or have none although they do not. */
function mistimed({ state: { active_tool_batch: batch } }: Session): readonly string[] {
  if (batch === null) return [];
  const states = batch.pages.flat();
  return batch.plan.planned_calls.flatMap(({ call_id, answer_within_ms }) => {
    const now = states[batch.observed.findIndex((observed) => observed.call_id === call_id)];
    if (answer_within_ms === undefined || now?.status !== 'queued') return [];
    return (now.due_at_ms !== undefined) === (waitsOf(batch, call_id).length === 0) ? [] : [call_id];
  });
}

/** One of the calls in a status that wait for nothing and share no result. */
function pick(run: Session, nth: number, status: string, by: 'bridge' | 'person' | 'either'): string | undefined {
  const batch = run.state.active_tool_batch;
  const ids = (batch?.plan.planned_calls ?? []).flatMap(({ call_id, executor, shares }) => {
    if (batch === null || shares !== undefined || run.callState(call_id)?.status !== status) return [];
    if (by !== 'either' && (executor.kind === 'custom') !== (by === 'person')) return [];
    return status !== 'waiting' && waitsOf(batch, call_id).length > 0 ? [] : [call_id];
  });
  return ids[nth % ids.length];
}

const onCall =
  (status: string, by: 'bridge' | 'person' | 'either', then: (run: Session, id: string) => Session) =>
  (run: Session, nth: number): Session => {
    const id = pick(run, nth, status, by);
    return id === undefined ? run : then(run, id);
  };

/** Each applies one more event; the session is unchanged when the event does not apply. */
const ACTS: readonly ((run: Session, nth: number) => Session)[] = [
  onCall('waiting', 'either', (run, id) => run.allowed(id)),
  onCall('waiting', 'either', (run, id) => run.allowed(id, { grant: {} })),
  onCall('waiting', 'either', (run, id) => run.denied(id)),
  onCall('queued', 'person', (run, id) => run.fulfilled(id)),
  onCall('queued', 'bridge', (run, id) => run.settled(id)),
  onCall('queued', 'bridge', (run, id) => run.started(id)),
  onCall('running', 'bridge', (run, id) => run.settled(id)),
  onCall('running', 'bridge', (run, id) => run.leaseExpired(id)),
  (run, nth) => {
    const [wake] = run.effectsOf('wake');
    return wake === undefined ? run : run.takes('TimeReached', { due_at_ms: wake.at_ms + (nth % 3) });
  },
  (run, nth) => (nth % 8 === 0 && run.phase() === 'executing' ? run.interrupted() : run),
];

const acts = fc.tuple(fc.constantFrom(...ACTS), fc.nat());

const calls = fc.array(
  fc.tuple(fc.constantFrom(...TOOLS.map(({ tool_name }) => tool_name)), fc.constantFrom('a', 'a/b', 'c')),
  { minLength: 1, maxLength: 9 },
);

describe('one event that changes many calls', () => {
  test('settles each call once, and starts the time of the calls that are ready then', () => {
    fc.assert(
      fc.property(calls, fc.array(acts, { maxLength: 14 }), fc.boolean(), (made, what, ttl) => {
        const policy = ttl ? { approval_ttl_ms: WITHIN } : {};
        let run = calling(
          asking(policy, { share_reads: true }, TOOLS),
          ...made.map(([name, path], index) => call(`c${index}`, name, { path })),
        );
        expect(mistimed(run)).toEqual([]);
        for (const [act, nth] of what) {
          run = act(run, nth);
          expect(mistimed(run)).toEqual([]);
        }
      }),
      { numRuns: roundsOf(300, 6_000) },
    );
  });

  // Takes minutes when each call is compared with all the others.
  test('is fast in the largest batch, in which each call waits for the one before and has a time', () => {
    const names = Array.from({ length: limits.CALLS_PER_BATCH_MAX }, (_, index) => `c${index}`);
    const run = calling(
      asking({}, { calls_max: limits.CALLS_MAX }, TOOLS),
      ...names.map((id) => call(id, 'timed', { path: 'a', id })),
    );
    expect(run.state.active_tool_batch?.timed).toEqual(['c0']);
    const interrupted = run.interrupted();
    expect(interrupted.phase()).toBe('idle');
    expect(interrupted.state.transcript.count).toBe(2 + names.length);
  });

  test('is fast when every call of the largest batch is due', () => {
    const names = Array.from({ length: limits.CALLS_PER_BATCH_MAX }, (_, index) => `c${index}`);
    const run = calling(
      asking({}, { calls_max: limits.CALLS_MAX }, TOOLS),
      ...names.map((id) => call(id, 'timed', { path: id })),
    );
    const late = run.takes('TimeReached', { due_at_ms: run.state.updated_at_ms + WITHIN });
    expect(new Set(statuses(late))).toEqual(new Set(['failed']));
  });
});

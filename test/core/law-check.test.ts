// The judge of a recorded log: recorded sessions keep the laws, and each kind of breach is named, with both positions.
import { readFile, readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  type IngressEvent,
  type Position,
  type SessionState,
  type StreamRecord,
  type ToolBatchPlan,
  brand,
  limits,
} from '../../schemas/index.ts';
import { type FoldedEvent, newLawCheck, newReplayer } from '../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { planHash } from '../../reducers/planner.ts';
import { SHOWS_WRITE, asking, calling } from '../support/consent.ts';
import { type Finding, findings, foldAnything, judge } from '../support/laws/recorded.ts';
import { PREVIEW_DIGEST, Session, ZERO_DIGEST, call, eventOf, say, session } from '../support/session.ts';
import { tool } from '../support/tools.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const folders = (await readdir(FIXTURES, { withFileTypes: true })).filter((entry) => entry.isDirectory());

describe('recorded sessions keep the laws:', () => {
  test.each(folders.map(({ name }) => name))('%s', async (name) => {
    const lines = (await readFile(new URL(`${name}/session.jsonl`, FIXTURES), 'utf8')).trimEnd().split('\n');
    const folded: FoldedEvent[] = [];
    const replayer = newReplayer((one) => folded.push(one));
    for (const line of lines) expect(replayer.add(JSON.parse(line) as never)).toBe(true);
    expect(folded.map(({ position }) => position)).toEqual(
      Array.from({ length: replayer.result().events }, (_, at) => at),
    );
    expect(findings(folded)).toEqual([]);
  });
});

/** The session after an event that it would refuse. */
function lying(of: Session, event: IngressEvent): Session {
  const events = [...of.events, event];
  return new Session(of, events, foldAnything(of, events).at(-1)?.after ?? of.state);
}

const streamOf = (of: Session): readonly FoldedEvent[] => foldAnything(of, of.events);
const lawsOf = (of: Session): readonly string[] => judge(streamOf(of)).map(inShort);
const inShort = ({ law, position, against, call_id }: Finding): string =>
  `${law} ${position} against ${against}${call_id === undefined ? '' : ` ${call_id}`}`;

const started = (of: Session, id: string): Session =>
  lying(of, of.next('ToolCallStarted', { ...of.callFields(id), owner: 'bridge-2' }));
const settled = (of: Session, id: string, outcome: 'succeeded' | 'unknown' = 'succeeded'): Session =>
  lying(of, of.next('ToolCallSettled', of.settlementFields(id, { outcome })));

/** Positions 0 and 1 are the request and the calls. */
const two = (): Session =>
  session()
    .runRequested()
    .observed([call('a', 'once'), call('b', 'free')]);

describe('the plan is kept:', () => {
  const writes = (): Session =>
    session()
      .runRequested()
      .observed([call('a', 'write', { path: 'x' }), call('b', 'write', { path: 'x/y' })]);

  test('a call begins before the one it waits for has its result', () => {
    expect(judge(streamOf(started(writes(), 'b')))).toEqual([
      {
        law: 'plan_kept',
        position: 2,
        against: 1,
        batch_id: 'batch-1',
        call_id: 'b',
        message: 'the call "b" begins, but "a", which it waits for, has no result',
      },
    ]);
  });

  test('an outcome whose early start is recorded is not reported again, and an unknown one needs no order', () => {
    expect(lawsOf(settled(started(writes(), 'b'), 'b'))).toEqual(['plan_kept 2 against 1 b']);
    expect(lawsOf(settled(writes(), 'b', 'unknown'))).toEqual([]);
  });

  test('a denied call between two others does not order them', () => {
    const three = ['a', 'b', 'c'].map((id) => call(id, id === 'b' ? 'asks_write' : 'write', { path: 'x' }));
    const denied = calling(asking(), ...three).denied('b');
    expect(lawsOf(started(denied, 'c'))).toEqual(['plan_kept 3 against 1 c']);
    expect(lawsOf(denied.settled('a').settled('c'))).toEqual([]);
  });

  test('a report names a call that the batch does not have, or that was rejected, or a batch that is over', () => {
    expect(lawsOf(settled(two(), 'z'))).toEqual(['plan_kept 2 against 1 z']);
    const report = two().next('ToolCallSettled', two().settlementFields('b'));
    expect(findings(told(rejecting(two(), 'b', 'tool_invalid_args'), report)).map(inShort)).toEqual([
      'plan_kept 2 against 1 b',
    ]);
    const over = two().settled('a').settled('b').batchSettled();
    const late = over.next('ToolCallStarted', { ...two().callFields('a'), owner: 'bridge-2' });
    expect(lawsOf(lying(over, late))).toEqual(['plan_kept 7 against 6 a']);
  });

  test('a plan that changes, lacks a call, or is not what its digest says', () => {
    const folded = streamOf(two().started('a'));
    const { plan } = two().state.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
    const without = { ...plan, planned_calls: plan.planned_calls.slice(0, 1) };
    expect(findings(replan(folded, 2, without)).map(inShort)).toEqual(['plan_kept 2 against 1 a']);
    const sealed = { ...without, plan_hash: planHash(without) };
    expect(judge(replan(folded.slice(0, 2), 1, sealed)).map(({ message }) => message)).toEqual([
      'the plan of batch-1: the call "b" is neither planned in its place nor rejected',
    ]);
    expect(judge(replan(folded.slice(0, 2), 1, { ...plan, plan_hash: ZERO_DIGEST })).map(inShort)).toEqual([
      'plan_kept 1 against 1',
    ]);
  });

  test('a batch is opened by an event that makes no calls', () => {
    const folded = streamOf(two().started('a'));
    expect(findings(folded.toSpliced(1, 1)).map(inShort)).toEqual([
      'plan_kept 1 against -1 a',
      'plan_kept 1 against -1 a',
    ]);
  });
});

/** The list with another last item. */
const withLast = <T>(list: readonly T[], last: T): readonly T[] => [...list.slice(0, -1), last];

const stateOf = (folded: readonly FoldedEvent[]): SessionState => (folded.at(-1) as FoldedEvent).after;

/** The stream with another plan of the open batch after the event at a position. */
function replan(folded: readonly FoldedEvent[], position: number, plan: ToolBatchPlan): readonly FoldedEvent[] {
  const one = folded[position] as FoldedEvent;
  const batch = one.after.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
  return folded.with(position, { ...one, after: { ...one.after, active_tool_batch: { ...batch, plan } } });
}

/** The stream of a session whose last event opened a batch, as if the plan had rejected a call of it. */
function rejecting(of: Session, id: string, code: ToolBatchPlan['rejected'][number]['code']): readonly FoldedEvent[] {
  const { plan, observed } = of.state.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
  const index = observed.findIndex(({ call_id }) => call_id === id);
  const rejected = [{ call_id: brand<'CallId'>(id), index, tool_name: 'any', code, message: 'no' }];
  const { [brand<'CallId'>(id)]: _gone, ...after } = plan.execution_plan.after;
  const planned_calls = plan.planned_calls.filter(({ call_id }) => call_id !== id);
  const rest = { ...plan, planned_calls, rejected, execution_plan: { ...plan.execution_plan, after } };
  return replan(streamOf(of), of.events.length - 1, { ...rest, plan_hash: planHash(rest) });
}

/** The stream with a report under its open plan. */
function told(folded: readonly FoldedEvent[], report: IngressEvent): readonly FoldedEvent[] {
  const before = stateOf(folded);
  const event = { ...report, plan_hash: before.active_tool_batch?.plan.plan_hash } as IngressEvent;
  return [...folded, { position: folded.length as Position, event, before, after: before, sealed: null }];
}

describe('each call has one result, in call order:', () => {
  test('a result comes again, or after its batch', () => {
    expect(lawsOf(settled(two().settled('a'), 'a'))).toEqual(['one_result_in_call_order 4 against 3 a']);
    const over = two().settled('a').settled('b').batchSettled();
    const late = lying(over, over.next('ToolCallSettled', two().settlementFields('a')));
    expect(lawsOf(late)).toEqual(['one_result_in_call_order 7 against 6 a']);
  });

  test('a batch closes before every call has its result', () => {
    const open = two().settled('b');
    expect(lawsOf(lying(open, open.next('ToolBatchSettled', open.batchFields())))).toEqual([
      'one_result_in_call_order 4 against 1 a',
    ]);
  });

  test.each([
    ['is missing', (open: Entries) => open.slice(0, -1)],
    ['comes twice', (open: Entries) => withLast(open, open.at(-2) as Entries[number])],
    ['is one too many', (open: Entries) => [...open, open.at(-1) as Entries[number]]],
    ['reads as a failure', (open: Entries) => withLast(open, { ...(open.at(-1) as Entries[number]), is_error: true })],
  ])('a result in the conversation %s', (_what, change) => {
    const folded = streamOf(two().settled('a').settled('b').batchSettled());
    const last = folded.at(-1) as FoldedEvent;
    const transcript = { ...last.after.transcript, open: change(last.after.transcript.open) };
    const found = findings(withLast(folded, { ...last, after: { ...last.after, transcript } }));
    expect(found).toEqual([expect.objectContaining({ law: 'one_result_in_call_order', position: 6 })]);
  });

  test('a turn that ends the run answers every call', () => {
    const folded = streamOf(
      session({ config: { calls_max: 1 } })
        .runRequested()
        .observed([call('a', 'free'), call('b', 'free')]),
    );
    expect(judge(folded)).toEqual([]);
    const last = folded.at(-1) as FoldedEvent;
    const transcript = { ...last.after.transcript, open: last.after.transcript.open.slice(0, -1) };
    expect(findings(withLast(folded, { ...last, after: { ...last.after, transcript } }))).toEqual([
      { law: 'one_result_in_call_order', position: 1, against: 1 },
    ]);
  });

  test('a call that an interrupt leaves running is reported once more, under its plan, and not twice', () => {
    const runsOn = tool('runs_on', { interrupt_behavior: 'continue' });
    const left = calling(asking({}, {}, [runsOn]), call('a', 'runs_on')).started('a');
    const over = left.interrupted();
    expect(over.state.detached).toHaveLength(1);
    const report = over.next('ToolCallSettled', left.settlementFields('a'));
    const once = over.taking(report);
    expect(lawsOf(once)).toEqual([]);
    expect(lawsOf(lying(once, report))).toEqual(['one_result_in_call_order 5 against 3 a']);
    const other = { ...report, plan_hash: ZERO_DIGEST } as IngressEvent;
    expect(lawsOf(lying(over, other))).toEqual(['plan_kept 4 against 3 a']);
  });
});

type Entries = SessionState['transcript']['open'];

describe('questions are answered by digest:', () => {
  const asked = (): Session => calling(asking(), call('a', 'asks'), call('b', 'asks'), call('p', 'person'));
  const answer = (of: Session, id: string, rest: object = {}): Session =>
    lying(of, of.next('user.tool_confirmation', { ...of.answerFields(id), result: 'allow', ...rest }));

  test('an answer is about other arguments, and allows nothing', () => {
    const answered = answer(asked(), 'a', { arguments_digest: ZERO_DIGEST });
    expect(lawsOf(answered)).toEqual(['answered_by_digest 2 against 1 a']);
    expect(lawsOf(started(answered, 'a'))).toEqual([
      'answered_by_digest 2 against 1 a',
      'answered_by_digest 3 against 1 a',
    ]);
  });

  test('an answer comes again, or to a call that asks no one', () => {
    expect(lawsOf(answer(asked().allowed('a'), 'a'))).toEqual(['answered_by_digest 3 against 2 a']);
    expect(lawsOf(answer(asked(), 'p'))).toEqual(['answered_by_digest 2 against 1 p']);
    const custom = { result: { success: true }, output: say('by hand') };
    const fulfilled = lying(two(), two().next('user.custom_tool_result', { ...two().answerFields('a'), ...custom }));
    expect(lawsOf(fulfilled)).toEqual(['answered_by_digest 2 against 1 a']);
  });

  test('a call runs without an answer; a grant answers the calls that it covers', () => {
    expect(lawsOf(started(asked(), 'a'))).toEqual(['answered_by_digest 2 against 1 a']);
    expect(lawsOf(asked().allowed('a', { grant: {} }).started('b'))).toEqual([]);
    const paths = ['src/a', 'b'].map((path, index) => call(index === 0 ? 'a' : 'b', 'asks', { path }));
    const narrow = calling(asking(), ...paths).allowed('a', { grant: { argument: 'path', pattern: 'src/*' } });
    expect(lawsOf(started(narrow, 'b'))).toEqual(['answered_by_digest 3 against 1 b']);
  });

  test('an answer names another preview, or a call changes a file that was not as in the preview it was allowed with', () => {
    const shown = (): Session => calling(asking({}, {}, [SHOWS_WRITE]), call('a', 'shows_write', { path: 'a' }));
    expect(lawsOf(answer(shown().previewed('a'), 'a', { preview: ZERO_DIGEST }))).toEqual([
      'answered_by_digest 3 against 2 a',
    ]);
    const changed = (path: string, before: object | null) => [{ path, before, after_digest: ZERO_DIGEST }];
    const settling = (of: Session, changes: readonly object[]): readonly string[] =>
      lawsOf(lying(of, of.next('ToolCallSettled', { ...of.settlementFields('a'), changes } as never)));
    const named = shown().previewed('a').allowed('a', { preview: PREVIEW_DIGEST }).started('a');
    const other = { ref: ZERO_DIGEST, bytes: 1 };
    expect(settling(named, changed('a', other))).toEqual(['answered_by_digest 5 against 3 a']);
    expect(settling(named, changed('a', null))).toEqual([]);
    expect(settling(named, changed('b', other))).toEqual([]);
    expect(settling(named, changed('a', { withheld: 'secret' }))).toEqual([]);
    expect(settling(shown().previewed('a').allowed('a').started('a'), changed('a', other))).toEqual([]);
  });

  test('a bridge reports what a person fulfils', () => {
    expect(lawsOf(settled(asked(), 'p'))).toEqual(['answered_by_digest 2 against 1 p']);
  });

  test('a call runs as approved with other arguments that no person gave', () => {
    const instead = call('c', 'asks', { path: 'y' });
    const amended = calling(asking(), call('a', 'asks')).denied('a', { instead }).batchSettled();
    expect(lawsOf(amended)).toEqual([]);
    const folded = streamOf(amended);
    const other = {
      ...(folded[2] as FoldedEvent),
      event: { ...folded[2]?.event, instead: call('c', 'asks') } as IngressEvent,
    };
    expect(findings(folded.with(2, other)).map(inShort)).toEqual(['answered_by_digest 3 against 1 c']);
  });

  test('a call runs as approved with other arguments that a person gave in another place', () => {
    const instead = call('c', 'asks', { path: 'y' });
    const place = (workspace: string) => ({ host_session_status: 'ready' as const, workspace });
    const here = calling(asking(), call('a', 'asks')).host(place('/here')).denied('a', { instead });
    expect(lawsOf(here.host(place('/there')).batchSettled())).toEqual([]);
    // The move is told after the batch was planned.
    const [stays, moves] = [streamOf(here.batchSettled()), streamOf(here.host(place('/there')).batchSettled())];
    const unseen = [...moves.slice(0, -1), { ...(stays.at(-1) as FoldedEvent), position: moves.length - 1 }];
    expect(findings(unseen as typeof moves).map(inShort)).toEqual([
      expect.stringMatching(/^answered_by_digest \d+ .* c$/),
    ]);
  });
});

describe('what must not be repeated begins once:', () => {
  test('a second start, a second attempt, and a start after the result', () => {
    expect(lawsOf(started(two().started('a'), 'a'))).toEqual(['began_once 3 against 2 a']);
    const again = two().started('a');
    const second = again.next('ToolCallSettled', again.settlementFields('a', { attempt: 2 }));
    expect(lawsOf(lying(again, second))).toEqual(['began_once 3 against 2 a']);
    expect(lawsOf(started(two().settled('a'), 'a'))).toEqual(['began_once 4 against 3 a']);
  });

  test('a repeatable call may begin again after its bridge was lost', () => {
    expect(lawsOf(two().started('b').leaseExpired('b').started('b').settled('b'))).toEqual([]);
  });

  test('a call that shares the result of another does not run', () => {
    const reads = ['a', 'b'].map((id) => call(id, 'read', { path: 'x' }));
    const shared = session({ config: { share_reads: true } })
      .runRequested()
      .observed(reads);
    expect(shared.plan().planned_calls[1]?.shares).toBe('a');
    expect(lawsOf(shared.settled('a').batchSettled())).toEqual([]);
    expect(lawsOf(started(shared, 'b'))).toEqual(['began_once 2 against 1 b']);
  });
});

describe('deny wins:', () => {
  test('a denied call begins, or has an outcome', () => {
    const denied = calling(asking(), call('a', 'asks'), call('b', 'asks')).denied('a');
    expect(lawsOf(started(denied, 'a'))).toEqual(['deny_won 3 against 2 a']);
    expect(lawsOf(settled(denied, 'a'))).toEqual(['deny_won 3 against 2 a']);
  });

  test.each(['permission_denied', 'tool_disabled', 'tool_unavailable'] as const)(
    'a call runs that the plan rejects: %s',
    (code) => {
      const report = two().next('ToolCallSettled', two().settlementFields('b'));
      expect(findings(told(rejecting(two(), 'b', code), report)).map(inShort)).toEqual(['deny_won 2 against 1 b']);
    },
  );

  const careless: readonly (readonly [string, Partial<SessionState>, string])[] = (() => {
    const { consent, tool_overrides, tool_registry: registry } = two().state;
    const policyOf = (policy: Partial<SessionState['consent']['policy']>) => ({
      consent: { grants: [], policy: { ...consent.policy, ...policy } },
    });
    const { free, ...without } = registry as Record<string, SessionState['tool_registry'][keyof object]>;
    const session = { ...tool_overrides.session, disable: [brand<'ToolId'>('free')] };
    const other = { ...(free as object), tool_ref: ZERO_DIGEST };
    const hosted = { ...(free as object), availability_rules: ['host_session_ready'] };
    return [
      ['is denied by the policy', policyOf(CONSENT_PRESETS.read_only), 'deny_won 3 against 2 b'],
      ['is disabled in the session', { tool_overrides: { ...tool_overrides, session } }, 'deny_won 3 against -1 b'],
      ['is not registered', { tool_registry: without }, 'deny_won 3 against -1 b'],
      ['has another definition', { tool_registry: { ...without, free: other } as never }, 'deny_won 3 against -1 b'],
      ['is not available', { tool_registry: { ...without, free: hosted } as never }, 'deny_won 3 against -1 b'],
      ['asks by now', policyOf(CONSENT_PRESETS.careful), 'answered_by_digest 3 against 1 b'],
    ];
  })();

  test.each(careless)('a call begins although its tool %s', (_why, change, breach) => {
    const begun = streamOf(started(two(), 'b'));
    const [begins] = begun.slice(-1) as [FoldedEvent];
    const before = { ...begins.before, ...change };
    const policy = before.consent.policy;
    const told = { ...begins, event: eventOf('ConsentPolicySet', { policy }, 99) as IngressEvent, after: before };
    const careless = [...begun.slice(0, -1), told, { ...begins, before }];
    expect(judge(careless).map(inShort)).toEqual([breach]);
  });

  test('a call begins that a change of the policy has settled', () => {
    const braked = two().takes('ConsentPolicySet', { policy: CONSENT_PRESETS.read_only });
    expect(lawsOf(started(braked, 'b'))).toEqual(['deny_won 3 against 2 b']);
  });

  test('a call of a tool that is gone is planned', () => {
    const folded = streamOf(two());
    const last = folded.at(-1) as FoldedEvent;
    const { once: _gone, ...tool_registry } = last.before.tool_registry as Record<string, never>;
    const found = findings(withLast(folded, { ...last, before: { ...last.before, tool_registry } }));
    expect(found.map(inShort)).toEqual(['deny_won 1 against -1 a']);
  });
});

describe('a run goes on:', () => {
  /** The stream with another state of the call at an index after its last event. */
  function ending(of: Session, index: number, status: 'failed' | 'queued'): readonly FoldedEvent[] {
    const folded = streamOf(of);
    const last = folded.at(-1) as FoldedEvent;
    const batch = last.after.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
    const [page = []] = batch.pages;
    const call = { ...(page[index] as (typeof page)[number]), status };
    const active_tool_batch = { ...batch, pages: [page.with(index, call)], running: batch.running - 1 };
    return withLast(folded, { ...last, after: { ...last.after, active_tool_batch } });
  }
  const runs = (): Session =>
    two()
      .started('a')
      .takes('RunSteered', { run_id: 'run-1', input: say('left') });

  test('a time ends a call that runs', () => {
    const timed = two().started('a').next('TimeReached', { due_at_ms: 1 });
    const folded = ending(runs(), 0, 'failed');
    const found = judge(withLast(folded, { ...(folded.at(-1) as FoldedEvent), event: timed }));
    expect(found).toEqual([
      {
        law: 'run_goes_on',
        position: 3,
        against: 2,
        batch_id: 'batch-1',
        call_id: 'a',
        message: 'TimeReached ends "a" as failed, but the call runs',
      },
    ]);
  });

  test('a run is ending, but none of its calls runs', () => {
    const cancelled = two().started('a').takes('RunCancelled', { run_id: 'run-1' });
    expect(lawsOf(cancelled)).toEqual([]);
    expect(lawsOf(cancelled.settled('a', { outcome: 'cancelled' }))).toEqual([]);
    const folded = streamOf(cancelled);
    const last = folded.at(-1) as FoldedEvent;
    // The fold goes on waiting after the report of the only call that runs.
    const report = cancelled.next('ToolCallSettled', cancelled.settlementFields('a', { outcome: 'cancelled' }));
    const held = { ...last, position: 4 as Position, event: report, before: last.after };
    expect(judge([...folded, held]).map(inShort)).toEqual(['run_goes_on 4 against 1 a']);
    expect(judge([...folded, held]).map(({ message }) => message)).toEqual([
      'run-1 is cancelling, but none of its calls runs, so that nothing ends it',
    ]);
  });

  test('a run executes, but has no batch', () => {
    const folded = streamOf(two().settled('a').settled('b').batchSettled());
    const last = folded.at(-1) as FoldedEvent;
    const run = { ...(last.after.run as NonNullable<SessionState['run']>), phase: 'executing' as const };
    expect(findings(withLast(folded, { ...last, after: { ...last.after, run } })).map(inShort)).toEqual([
      'run_goes_on 6 against 1',
    ]);
  });
});

test('the first breaches are kept, and all are counted', () => {
  const many = limits.LAW_BREACHES_MAX + 5;
  const check = newLawCheck();
  const open = two();
  for (const one of streamOf(open)) check.add(one);
  const stray = streamOf(started(open, 'z')).at(-1) as FoldedEvent;
  for (let position = 2; position < 2 + many; position += 1) check.add({ ...stray, position: position as Position });
  expect(check.count()).toBe(many);
  expect(check.breaches().map(({ position }) => position)).toEqual(
    Array.from({ length: limits.LAW_BREACHES_MAX }, (_, index) => 2 + index),
  );
});

test('a replayer that is asked before its first record takes records as before', async () => {
  const lines = (await readFile(new URL('demo/session.jsonl', FIXTURES), 'utf8')).trimEnd().split('\n');
  const replayer = newReplayer();
  const empty = { state: null, stateDigest: null, chain: null, events: 0 };
  const divergence = { position: -1, commit: null, what: 'record', message: 'the stream has no genesis record' };
  expect(replayer.result()).toEqual({ ...empty, divergence });
  const records = lines.map((line) => JSON.parse(line) as StreamRecord);
  for (const record of records) expect(replayer.add(record)).toBe(true);
  const events = records.flatMap((record) => (record.kind === 'commit' ? record.events : [])).length;
  expect(replayer.result()).toMatchObject({ events, divergence: null });
});

describe('questions of calls are kept, and noted work is awaited:', () => {
  const runs = (): Session =>
    session()
      .runRequested()
      .observed([call('a', 'once')])
      .started('a');
  const position = (of: Session): number => of.events.length;

  test('a call asks, or goes on, while its question is open', () => {
    const asks = runs().asked('a');
    const again = lying(asks, asks.next('ToolCallAsked', { ...asks.attemptFields('a'), question: { message: 'x' } }));
    expect(lawsOf(again)).toEqual([`questions_kept ${position(asks)} against ${position(asks) - 1} a`]);
    const left = runs().asked('a', {}, 'state');
    expect(lawsOf(started(left, 'a'))).toContain(`questions_kept ${position(left)} against ${position(left) - 1} a`);
    expect(lawsOf(left.elicited('a').started('a').settled('a'))).toEqual([]);
  });

  test('a question ends, and nothing says why', () => {
    const left = runs().asked('a', {}, 'state');
    const paused = left.paused();
    const [last] = streamOf(paused).slice(-1) as [FoldedEvent];
    const { active_tool_batch: batch } = last.after;
    const pages = batch?.pages.map((page) => page.map(({ question: _gone, ...rest }) => rest)) ?? [];
    const after = { ...last.after, active_tool_batch: batch === null ? null : { ...batch, pages } };
    const found = judge([...streamOf(left), { ...last, after }]).map(inShort);
    expect(found).toEqual([`questions_kept ${position(left)} against ${position(left) - 1} a`]);
    expect(lawsOf(paused.elicited('a'))).toEqual([]);
  });

  test('a lost bridge ends a call whose handle is on record, unless its run ends', () => {
    const noted = runs().noted('a', 'task-7');
    const lost = (of: Session): FoldedEvent => streamOf(of.leaseExpired('a')).at(-1) as FoldedEvent;
    const [given] = [{ ...lost(noted), after: lost(runs()).after }];
    expect(judge([...streamOf(noted), given]).map(inShort)).toEqual([
      `noted_work_awaited ${position(noted)} against ${position(noted) - 1} a`,
    ]);
    expect(lawsOf(noted.leaseExpired('a').started('a'))).toEqual([]);
    expect(lawsOf(noted.cancelled().leaseExpired('a'))).toEqual([]);
  });
});

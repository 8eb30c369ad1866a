// The life cycles as tables: every pair of state and event, in declared order. A listed event is accepted and leads only
// to a listed state; any other event is refused and leaves the state unchanged, to the byte.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { type IngressEvent, type IngressKind, INGRESS_KINDS } from '../../schemas/index.ts';
import { CALL_TRANSITIONS, RUN_TRANSITIONS, stepNew } from '../../src/core/index.ts';
import { CALL_STATUSES } from '../../reducers/call-status.ts';
import { PHASES, PHASE_BOUND_KINDS, transitionsOf } from '../../reducers/run-phases.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { PREVIEW, ZERO_DIGEST, type Session, call, say, session, textOf } from '../support/session.ts';

const batch = (run: Session): Session =>
  run.observed([
    call('a', 'once'),
    call('b', 'write', { path: 'x' }),
    call('c', 'write', { path: 'x' }),
    call('q', 'asks'),
    call('p', 'person'),
  ]);

/** A session in each phase; with a batch, `a` runs, `b` is queued, `q` asks, and `p` waits for a person to fulfil it. */
const IN_PHASE: Readonly<Record<(typeof PHASES)[number], Session>> = {
  idle: session(),
  opening: session().runRequested({ host_session_open: true }),
  generating: session().runRequested(),
  executing: batch(session().runRequested()).started('a'),
  paused_opening: session().runRequested({ host_session_open: true }).paused(),
  paused_generating: session().runRequested().paused(),
  paused_executing: batch(session().runRequested()).started('a').paused(),
  interrupting: batch(session().runRequested()).started('a').interrupted(),
  cancelling: batch(session().runRequested()).started('a').cancelled(),
};

/** One plausible event of each kind for the current state of a session. */
function eventFor(of: Session, kind: IngressKind): IngressEvent {
  const run = { run_id: of.runId() };
  const fields: { readonly [K in IngressKind]: object } = {
    RunRequested: { input: say('go') },
    ToolCallsObserved: { ...of.turnFields(), calls: [call('n', 'free')] },
    GenerateFailed: { ...of.turnFields(), code: 'no_answer', message: 'none' },
    ContextCompacted: { ...of.turnFields(), through: ZERO_DIGEST, summary: say('so far') },
    CompactFailed: { ...of.turnFields(), code: 'no_answer', message: 'none' },
    ToolCallStarted: { ...of.callFields('b'), owner: 'bridge-2' },
    ToolCallSettled: of.settlementFields('a'),
    ToolBatchSettled: of.batchFields(),
    LeaseExpired: { batch_id: of.batchFields().batch_id, call_id: 'a', attempt: 1 },
    CallPreviewed: { ...of.previewFields('q'), preview: PREVIEW },
    ToolCallNoted: { ...of.attemptFields('a'), handle: 'task-1' },
    ToolCallAsked: { ...of.attemptFields('a'), question: { message: 'Which one?' } },
    HostSessionUpdated: { host_session: { host_session_status: 'ready' } },
    ToolRegistrySet: { registry: of.tool_package.registry },
    ToolsetSet: { toolset: 'skill', owner: 'engine', tools: [toolsetTool('skill.a', 0)] },
    ToolsetApproved: { toolset: 'skill', tools: {} },
    ToolsetRemoved: { toolset: 'skill' },
    ToolProfileSelected: { profile_id: 'few' },
    ToolOverridesSet: { scope: 'session', disable: ['read'] },
    SessionConfigured: { config: { model: 'm' } },
    RunSteered: { ...run, input: say('left') },
    FollowUpQueued: { follow_up: { input: say('then') } },
    RunPaused: run,
    RunResumed: run,
    ConsentPolicySet: { policy: CONSENT_PRESETS.careful },
    RulesAdopted: { rules: 2, since: '0.3.0' },
    'user.tool_confirmation': { ...of.answerFields('q'), result: 'allow' },
    'user.custom_tool_result': { ...of.answerFields('p'), result: { success: true }, output: say('done') },
    'user.elicitation_result': { ...of.elicitedFields('a'), action: 'accept' },
    'user.interrupt': run,
    RunCancelled: run,
    RunCompleted: run,
    RunFailed: { ...run, code: 'gave_up', message: 'no' },
    UndoRequested: { batch_id: 'batch-1', call_id: 'z', changes: [{ path: 'x', before: null, after_digest: null }] },
    UndoSettled: { position: 0, batch_id: 'batch-1', call_id: 'z', success: true },
    TimeReached: { due_at_ms: 1_000_000 },
  };
  return of.next(kind, fields[kind]);
}

/** Kinds that answer something that none of these sessions waits for, or adopt rules that are not there yet. */
const NOT_YET: ReadonlySet<IngressKind> = new Set([
  'CallPreviewed',
  'CompactFailed',
  'ContextCompacted',
  'RulesAdopted',
  'TimeReached',
  'ToolsetApproved',
  'ToolsetRemoved',
  'UndoSettled',
  'user.elicitation_result',
]);

/** A batch can be settled only when every call is settled. */
const settleAll = (of: Session): Session => {
  const open = of.settled('a').denied('q').fulfilled('p');
  // A paused run starts no call.
  const outcome = open.phase() === 'paused_executing' ? 'cancelled' : 'succeeded';
  return open.settled('b', { outcome }).settled('c', { outcome });
};

function stepped(of: Session, event: IngressEvent): { readonly to: string | null; readonly code: string | null } {
  const before = textOf(of.state);
  const answer = stepNew(of.state, event);
  expect(textOf(of.state)).toBe(before);
  if (isLeft(answer)) return { to: null, code: answer.left.code };
  return { to: answer.right.state.run?.phase ?? 'idle', code: null };
}

describe.each(PHASES)('a run that is %s', (phase) => {
  const from = IN_PHASE[phase];

  test('is in that phase', () => {
    expect(from.phase()).toBe(phase);
  });

  test.each(INGRESS_KINDS.map((kind) => [kind, transitionsOf(phase, kind)] as const))(
    '%s leads to %j',
    (kind, targets) => {
      const ready = kind === 'ToolBatchSettled' && targets !== null ? settleAll(from) : from;
      const { to, code } = stepped(ready, eventFor(ready, kind));
      const taken = targets !== null || !PHASE_BOUND_KINDS.has(kind);
      const known = targets ?? [phase];
      expect({ to: to === null || known.includes(to as never), code: code === null }).toEqual({
        to: true,
        code: taken && !NOT_YET.has(kind) && !(kind === 'UndoRequested' && from.state.active_tool_batch !== null),
      });
    },
  );
});

test('every phase of the table is reached, and every target is a phase', () => {
  expect(Object.keys(IN_PHASE)).toEqual(PHASES);
  const targets = Object.values(RUN_TRANSITIONS).flatMap((row) => Object.values(row).flat());
  expect(targets.every((target) => PHASES.includes(target))).toBe(true);
});

describe('calls', () => {
  const opened = (): Session =>
    session()
      .runRequested()
      .observed([call('a', 'once'), call('b', 'free'), call('z', 'nope')]);
  const asking = (): Session =>
    session()
      .runRequested()
      .observed([call('a', 'asks'), call('b', 'free')]);
  const IN_STATUS: Readonly<Record<(typeof CALL_STATUSES)[number], Session>> = {
    waiting: asking(),
    queued: opened(),
    running: opened().started('a'),
    succeeded: opened().settled('a'),
    failed: opened().settled('a', { success: false }),
    rejected: session()
      .runRequested()
      .observed([call('a', 'nope'), call('b', 'free')]),
    denied: asking().denied('a'),
    cancelled: opened().settled('a', { outcome: 'cancelled' }),
    unknown: opened().started('a').leaseExpired('a'),
  };
  const REPORTS = [
    'ToolCallStarted',
    'ToolCallSettled',
    'LeaseExpired',
    'user.interrupt',
    'RunCancelled',
    'RunFailed',
  ] as const;

  const eventOn = (of: Session, kind: (typeof REPORTS)[number]): IngressEvent => {
    if (kind === 'ToolCallStarted') return of.next(kind, { ...of.callFields('a'), owner: 'x' });
    if (kind === 'ToolCallSettled') {
      // A call that is not read-only has no other outcome before its start.
      const outcome = of.callState('a')?.status === 'queued' ? 'cancelled' : 'succeeded';
      return of.next(kind, of.settlementFields('a', { outcome }));
    }
    if (kind === 'LeaseExpired')
      return of.next(kind, { batch_id: of.batchFields().batch_id, call_id: 'a', attempt: of.callFields('a').attempt });
    if (kind === 'RunFailed') return of.next(kind, { run_id: 'run-1', code: 'x', message: 'y' });
    return of.next(kind, { run_id: 'run-1' });
  };

  const rowOf = (status: (typeof CALL_STATUSES)[number], kind: IngressKind): readonly string[] | null =>
    (CALL_TRANSITIONS[status] as Partial<Readonly<Record<IngressKind, readonly string[]>>>)[kind] ?? null;

  describe.each(CALL_STATUSES)('a call that is %s', (status) => {
    test('is in that status', () => {
      expect(IN_STATUS[status].callState('a')?.status).toBe(status);
    });

    /** A report names its call; the row of a call that waits is about a report on another one, which closes the host session. */
    const ownRow = (kind: IngressKind) =>
      status === 'waiting' && kind === 'ToolCallSettled' ? null : rowOf(status, kind);

    test.each(REPORTS.map((kind) => [kind, ownRow(kind)] as const))('%s leads to %j', (kind, targets) => {
      const from = IN_STATUS[status];
      const answer = stepNew(from.state, eventOn(from, kind));
      const after = isLeft(answer) ? null : callAfter(answer.right.state, kind);
      const endsRun = kind.startsWith('Run') || kind === 'user.interrupt';
      expect(targets === null ? (endsRun ? 'untouched' : after) : targets.includes(after ?? '')).toBe(
        targets === null ? (endsRun ? 'untouched' : null) : true,
      );
    });
  });

  /** The status afterwards; when the batch was closed with its run, the one its result shows. */
  function callAfter(state: Session['state'], kind: IngressKind): string | null {
    const status = state.active_tool_batch?.pages[0]?.[0]?.status;
    if (status !== undefined) return status;
    const result = state.transcript.open.find((entry) => entry.call_id === 'a');
    return (kind.startsWith('Run') || kind === 'user.interrupt') && result?.is_error === true
      ? 'cancelled'
      : (status ?? null);
  }
});

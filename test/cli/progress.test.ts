// What a person who watches a run sees of each kind of event.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type IngressKind, INGRESS_KINDS, type Position } from '../../schemas/index.ts';
import { progressLines } from '../../src/cli/progress.ts';
import type { FoldedEvent } from '../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { PDF, PNG, attachmentOf } from '../support/attachments.ts';
import { SHOWS_WRITE, asking, calling } from '../support/consent.ts';
import { Session, call, say, session } from '../support/session.ts';

/** The lines of the last event of a session, without colours. */
function seen(before: Session, next: (of: Session) => Session): readonly string[] {
  const after = next(before);
  const event = after.events.at(-1);
  const watched = { event, before: before.state, after: after.state } as unknown as FoldedEvent;
  return progressLines(watched).map((line) => stripVTControlCharacters(line));
}

/** Rules that only a later release knows: the event is read, not folded. */
function adoptedLater(of: Session): Session {
  const event = of.next('RulesAdopted', { rules: 2, since: '0.3.0', by: 'Ada' });
  return new Session(of, [...of.events, event], of.state);
}

type Example = readonly [given: Session, when: (of: Session) => Session, then: readonly string[]];

/** A session of two tools, so that the line of an offer is short. */
const few = (): Session => session().takes('ToolProfileSelected', { profile_id: 'few' });
const run = (): Session => few().runRequested();
const OFFERED = '  offered (few): write read';
const batch = (): Session =>
  session()
    .runRequested()
    .observed([
      call('a', 'once'),
      call('b', 'write', { path: 'x' }),
      call('q', 'asks'),
      call('p', 'person'),
      call('z', 'nope'),
    ]);
const changes = [{ path: 'x\u001B[2J', before: null, after_digest: null }];
const undo = (of: Session): Session => of.takes('UndoRequested', { batch_id: 'batch-1', call_id: 'w', changes });

/** A run with a call of which a person is shown what it would do. */
const shown = (): Session => calling(asking({}, {}, [SHOWS_WRITE]), call('w', 'shows_write', { path: 'a' }));

/** A run whose conversation is to be compacted because the model cannot take it. */
const longRun = (): Session =>
  session()
    .runRequested({ context: { mark: 9_999 }, tool_profile: 'few' })
    .observed([call('a', 'read', { path: 'x' })])
    .batchDone()
    .generateFailed('context_length', 'too long');

const withToolset = (of: Session): Session =>
  of.takes('ToolsetSet', { toolset: 'skill', owner: 'engine', tools: [toolsetTool('skill.a', 0)] });

const EXAMPLES: { readonly [K in IngressKind]: Example } = {
  RunRequested: [few(), (of) => of.runRequested(), ['run-1 go', OFFERED]],
  ToolCallsObserved: [
    run(),
    (of) => of.observed([call('a', 'read', { path: 'x' }), call('b', 'read', { path: 'y' })], { content: say('both') }),
    ['turn 1 both', '  group 1 (2 in parallel): read(x), read(y)'],
  ],
  GenerateFailed: [
    run(),
    (of) => of.generateFailed('no_answer', 'none\u0007'),
    ['  ! the model request failed: no_answer: none␇', 'run-1 failed: no_answer, none␇'],
  ],
  ContextCompacted: [
    longRun(),
    (of) => of.compacted('all so far\u0007'),
    ['  the first 3 messages are now a summary: all so far␇', OFFERED],
  ],
  CompactFailed: [
    longRun(),
    (of) => of.compactFailed('no_answer', 'none\u0007'),
    [
      '  ! the conversation was not compacted: no_answer: none␇',
      'run-1 failed: context_length, The conversation is longer than the model takes, and it could not be compacted (no_answer).',
    ],
  ],
  ToolCallStarted: [batch(), (of) => of.started('a'), ['  ▸ g1 once started']],
  ToolCallSettled: [batch(), (of) => of.settled('b'), ['  ✓ g1 write(x) output of b']],
  ToolBatchSettled: [
    run()
      .observed([call('a', 'read', { path: 'x' })])
      .settled('a')
      .takes('ToolProfileSelected', { profile_id: 'all' })
      .takes('ToolOverridesSet', { scope: 'session', disable: ['hosted', 'copy', 'patch', 'topic', 'free', 'keyed'] }),
    (of) => of.batchSettled(),
    ['  offered (all): read write once barrier workflow asks person'],
  ],
  LeaseExpired: [batch().started('a'), (of) => of.leaseExpired('a'), ['  ! a: its bridge was lost']],
  CallPreviewed: [shown(), (of) => of.previewed('w'), []],
  ToolCallNoted: [batch().started('a'), (of) => of.noted('a'), ['  … once waits for work outside']],
  ToolCallAsked: [
    batch().started('a'),
    (of) => of.asked('a', { message: 'Which\u0007\none?', from: 'a\u202Eb' }),
    ['  ? once asks (a<U+202E>b): Which␇ one?'],
  ],
  HostSessionUpdated: [run(), (of) => of.hostReady(), ['  host session ready']],
  ToolRegistrySet: [
    run(),
    (of) => of.takes('ToolRegistrySet', { registry: of.tool_package.registry.slice(0, 13) }),
    ['  tools replaced: 13 registered'],
  ],
  ToolsetSet: [
    run(),
    (of) => of.takes('ToolsetSet', { toolset: 'skill', owner: 'engine', tools: [toolsetTool('skill.a', 0)] }),
    ['  toolset skill set by engine: 1 tools; 1 wait for approval: refold toolsets approve default skill'],
  ],
  ToolsetApproved: [
    withToolset(session().runRequested({ host_session_open: true, tool_profile: 'few' })),
    (of) =>
      of.takes('ToolsetApproved', { toolset: 'skill', tools: of.state.toolsets?.['skill']?.tools ?? {}, by: 'Ada' }),
    ['  toolset skill: 1 definitions approved by Ada'],
  ],
  ToolsetRemoved: [
    withToolset(run()),
    (of) => of.takes('ToolsetRemoved', { toolset: 'skill' }),
    ['  toolset skill removed'],
  ],
  ToolProfileSelected: [
    session().runRequested({ host_session_open: true }),
    (of) => of.takes('ToolProfileSelected', { profile_id: 'few' }),
    ['  profile few selected', OFFERED],
  ],
  ToolOverridesSet: [
    few(),
    (of) => of.takes('ToolOverridesSet', { scope: 'session', disable: ['read', 'write'], enable: ['spare'] }),
    ['  overrides of the session: enable spare; disable read write'],
  ],
  SessionConfigured: [
    session(),
    (of) => of.takes('SessionConfigured', { config: { model: 'm', turns_max: 3 } }),
    ['  config of later runs: {"model":"m","turns_max":3}'],
  ],
  RunSteered: [run(), (of) => of.steered('left'), ['  steered: left']],
  FollowUpQueued: [run(), (of) => of.followUp('then'), ['  follow-up run queued: then']],
  RunPaused: [run(), (of) => of.paused(), ['  paused']],
  RunResumed: [run().paused(), (of) => of.resumed(), ['  resumed']],
  RunCancelled: [batch().started('a'), (of) => of.cancelled('no'), ['  cancelling; 1 running']],
  RunCompleted: [run(), (of) => of.completed(), ['run-1 completed']],
  RunFailed: [
    batch().started('a'),
    (of) => of.failed('gave_up', 'too hard'),
    ['  failing: gave_up, too hard; 1 running'],
  ],
  ConsentPolicySet: [
    run(),
    (of) => of.takes('ConsentPolicySet', { policy: CONSENT_PRESETS.careful, by: 'Ada' }),
    ['  policy set by Ada; earlier grants are revoked'],
  ],
  RulesAdopted: [session(), adoptedLater, ['  moved from rules 1 to rules 2 by Ada']],
  'user.tool_confirmation': [batch(), (of) => of.allowed('q', { by: 'Ada' }), ['  ✓ asks allowed by Ada']],
  'user.custom_tool_result': [batch(), (of) => of.fulfilled('p'), ['  ✓ person answered answer to p']],
  'user.elicitation_result': [
    batch().started('a').asked('a'),
    (of) => of.elicited('a', 'decline', { by: 'Ada' }),
    ['  ✗ once its question declined by Ada'],
  ],
  'user.interrupt': [
    run(),
    (of) => of.takes('user.interrupt', { run_id: of.runId(), input: say('rather this') }),
    ['  interrupted: rather this'],
  ],
  UndoRequested: [session(), undo, ['  undo of w requested: x␛[2J']],
  UndoSettled: [
    undo(session()),
    (of) => of.takes('UndoSettled', { ...undone, success: false, code: 'undo_conflict', message: 'x was changed' }),
    ['  ✗ w not undone: undo_conflict, x was changed'],
  ],
  TimeReached: [
    run().host({ host_session_id: 'h', host_session_status: 'ready', expires_at_ms: 5_000 }),
    (of) => of.takes('TimeReached', { due_at_ms: 5_000 }),
    ['  host session expired'],
  ],
};

const undone = { position: 0 as Position, batch_id: 'batch-1', call_id: 'w' };

test.each(INGRESS_KINDS)('%s', (kind) => {
  const [before, next, lines] = EXAMPLES[kind];
  expect(next(before).events.at(-1)?.kind).toBe(kind);
  expect(seen(before, next)).toEqual(lines);
});

describe('the end of a run', () => {
  test('is one line when nothing runs, with the reason', () => {
    expect(seen(run(), (of) => of.cancelled('enough'))).toEqual(['run-1 cancelled: enough']);
    expect(seen(run(), (of) => of.failed('gave_up', 'too hard'))).toEqual(['run-1 failed: gave_up, too hard']);
  });

  test('follows the event that settles the last running call', () => {
    const cancelling = batch().started('a').cancelled('enough');
    expect(seen(cancelling, (of) => of.settled('a'))).toEqual(['  ✓ g1 once output of a', 'run-1 cancelled: enough']);
  });

  test('begins the follow-up run that waits', () => {
    const waits = run().followUp('then').followUp('and then');
    expect(seen(waits, (of) => of.completed())).toEqual(['run-1 completed', 'run-2 then', OFFERED]);
  });
});

describe('a result', () => {
  const told = (result: object, outcome: 'succeeded' | 'failed'): readonly string[] =>
    seen(batch(), (of) =>
      of.settled('b', { result: result as never, outcome, ...(outcome === 'failed' ? { code: 'odd' } : {}) }),
    );

  test('shows people its message, and beside it what comes next', () => {
    const result = { success: true, message: 'Saved\n\u001b[2Jas x', nextAction: 'open x' };
    expect(told(result, 'succeeded')).toEqual(['  ✓ g1 write(x) Saved ␛[2Jas x', '    next: open x']);
  });

  test('that failed shows its error, unless it has a message', () => {
    expect(told({ success: false, error: 'no space' }, 'failed')).toEqual(['  ✗ g1 write(x) failed: odd no space']);
    const both = { success: false, error: 'ENOSPC', message: 'The disk is full' };
    expect(told(both, 'failed')).toEqual(['  ✗ g1 write(x) failed: odd The disk is full']);
  });
});

test('a follow-up run starts at once when none is active', () => {
  expect(seen(few(), (of) => of.followUp('then'))).toEqual(['run-1 then', OFFERED]);
});

test('an undo that succeeded, and overrides that are lifted', () => {
  expect(seen(undo(session()), (of) => of.takes('UndoSettled', { ...undone, success: true }))).toEqual([
    '  ✓ w undone',
  ]);
  expect(seen(few(), (of) => of.takes('ToolOverridesSet', { scope: 'session' }))).toEqual([
    '  overrides of the session: none',
  ]);
});

test('what comes with files says how many', () => {
  const attachments = [attachmentOf(PNG, 'image/png'), attachmentOf(PDF, 'application/pdf')];
  const one = attachments.slice(0, 1);
  const said = { run_id: 'run-1', input: { text: 'see' } };
  expect(seen(few(), (of) => of.takes('RunRequested', { input: { text: 'go' }, attachments }))).toEqual([
    'run-1 go [2 files]',
    OFFERED,
  ]);
  expect(seen(run(), (of) => of.takes('RunSteered', { ...said, attachments: one }))).toEqual([
    '  steered: see [1 file]',
  ]);
  expect(seen(run(), (of) => of.takes('user.interrupt', { ...said, attachments }))[0]).toContain(': see [2 files]');
  const settled = (of: Session): Session =>
    of.takes('ToolCallSettled', {
      ...of.callFields('a'),
      result: { success: true },
      output: { text: 'ok' },
      attachments,
    });
  expect(seen(batch().started('a'), settled)[0]).toMatch(/ ok \[2 files\]$/);
});

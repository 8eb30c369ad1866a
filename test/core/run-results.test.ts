// The results of a run when an interrupt leaves a call running: what the call reports later is not its result.
import { expect, test } from 'vitest';
import { newRunResults } from '../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { foldedIn, recordsOf } from '../audit/records.ts';
import { type Session, call, say, session } from '../support/session.ts';
import { profileOf, tool } from '../support/tools.ts';

const FREE = { parallelism_hint: { parallel_safe: true } };
const TOOLS = [
  tool('goes_on', { ...FREE, interrupt_behavior: 'continue' }),
  tool('blocks', { ...FREE, interrupt_behavior: 'block' }),
];
const all = profileOf('all', TOOLS);
const tool_package = {
  registry: TOOLS,
  profiles: [all],
  provider_profiles: [{ provider_contains: '', profile_id: all.profile_id }],
};

/** Two calls run when a person says something else: the first goes on without the run, which waits for the second. */
const interrupted = (): Session =>
  session({ tool_package, consent: CONSENT_PRESETS.allow_all })
    .runRequested()
    .observed([call('a', 'goes_on'), call('b', 'blocks')])
    .started('a')
    .started('b')
    .takes('user.interrupt', { run_id: 'run-1', input: say('something else') });

const late = (of: Session) => ({
  batch_id: 'batch-1',
  plan_hash: of.plan().plan_hash,
  call_id: 'a',
  attempt: 1,
  result: { success: true, data: { late: true } },
  output: say('late'),
});

function resultsOf(of: Session) {
  const results = newRunResults();
  for (const folded of foldedIn(recordsOf(of, []))) results.add(folded);
  return results.result();
}

const LEFT_RUNNING = {
  call: { call_id: 'a' },
  status: 'unknown',
  code: 'left_running',
  result: null,
  output: { text: expect.stringMatching(/^error: left_running:/) },
};

test.each<[string, (of: Session, report: ReturnType<typeof late>) => Session]>([
  ['while its batch is open', (of, report) => of.takes('ToolCallSettled', report).settled('b')],
  ['in a later turn of its run', (of, report) => of.settled('b').takes('ToolCallSettled', report).answered('bye')],
  ['after its run has ended', (of, report) => of.settled('b').answered('bye').takes('ToolCallSettled', report)],
])('the late report of a detached call %s is recorded, and is not its result', (_when, told) => {
  const now = interrupted();
  const after = told(now, late(now));
  expect(after.state).not.toHaveProperty('detached');
  expect(resultsOf(after)).toMatchObject([LEFT_RUNNING, { call: { call_id: 'b' }, status: 'succeeded' }]);
});

test('a call that is detached as the last of its batch has its result at once', () => {
  const now = session({ tool_package, consent: CONSENT_PRESETS.allow_all })
    .runRequested()
    .observed([call('a', 'goes_on')])
    .started('a')
    .takes('user.interrupt', { run_id: 'run-1', input: say('something else') });
  expect(now.state.active_tool_batch).toBeNull();
  expect(resultsOf(now)).toMatchObject([LEFT_RUNNING]);
});

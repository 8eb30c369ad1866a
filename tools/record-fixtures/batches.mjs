// Sessions about batches and the bounds of state: plans, lost leases, sealed pages, odd values.
import { Recorder, blob, call } from './recorder.mjs';
import { AGAIN, BARRIER, ONCE, PATCH, READ, TOPIC, WRITE, packageOf, profile, tool } from './tools.mjs';

export function leaseLost() {
  const session = new Recorder('lease-lost', { tool_package: packageOf([READ, ONCE, AGAIN]) });
  session
    .runs('three things')
    .observes([
      call('read', 'read', { path: 'a' }),
      call('again', 'again'),
      call('once', 'once'),
      call('paused', 'read', { path: 'b' }),
    ]);
  session.together(() => {
    for (const id of ['read', 'again', 'once', 'paused']) session.starts(id);
  });
  session.loses('read').loses('once').calls({ read: 'queued', once: 'unknown' });
  session.starts('read', 'bridge-2').loses('read').starts('read', 'bridge-3');
  session
    .shows('the third attempt', () => session.callState('read').attempt === 3)
    .settles('again')
    .settles('read');
  session.ofRun('RunPaused').loses('paused').calls({ paused: 'queued' }).ofRun('RunResumed').starts('paused');
  session.settles('paused', { result: { success: false }, outcome: 'unknown' }).calls({ paused: 'unknown' });
  return session.settlesBatch().answers('two of four are certain').ended('completed');
}

/** Three hundred calls that overlap in a small tree. A quarter settles in an order that only the plan allows; then an interrupt. */
export function largeBatch() {
  const session = new Recorder('large-batch', { tool_package: packageOf([READ, WRITE, PATCH, TOPIC, BARRIER, AGAIN]) });
  const calls = Array.from({ length: 300 }, (_, index) => ({ call_id: `${index}`, ...overlappingCall(index) }));
  session.runs('a lot').observes(calls);
  const { planned_calls, execution_plan } = session.state.active_tool_batch.plan;
  session.shows('nothing is rejected', () => planned_calls.length === 300 && execution_plan.groups.length > 10);
  // Group by group up to the barrier, each in the reverse of the canonical order.
  const barrier = execution_plan.groups.findIndex(([id]) => id === `${BARRIER_AT}`);
  for (const group of execution_plan.groups.slice(0, barrier + 1)) {
    // A bridge that works on many calls reports them together.
    session.together(() => {
      for (const id of group.toReversed()) {
        if (Number(id) % 10 === 0) session.starts(id);
        session.settles(id, { output: id });
      }
    });
  }
  session.shows('the rest waits', ({ active_tool_batch }) => active_tool_batch.queued === 299 - BARRIER_AT);
  return session.ofRun('user.interrupt').ended('interrupted').runs('go on').answers('all of it');
}

const BARRIER_AT = 70;

function overlappingCall(index) {
  const path = `d${index % 7}/${index % 3 === 0 ? '' : `f${(index * 5) % 11}`}`;
  if (index === BARRIER_AT) return { tool_name: 'barrier' };
  if (index % 29 === 0) return { tool_name: 'topic', arguments: { topic: `t/${index % 4}` } };
  if (index % 23 === 0) return { tool_name: 'again', arguments: { n: index } };
  if (index % 17 === 0) {
    const headers = `*** Update File: ${path}x\n*** Move to: ./e//${index}/../m`;
    return { tool_name: 'patch', arguments: { patch: `*** Begin Patch\n${headers}\n*** End Patch` } };
  }
  return { tool_name: index % 4 === 0 ? 'write' : 'read', arguments: { path } };
}

/** Waits that exceed what a plan may hold: every read waits for all the writes below its path. */
export function entangledBatch() {
  const session = new Recorder('entangled-batch', { tool_package: packageOf([READ, WRITE]) });
  const calls = Array.from({ length: 640 }, (_, n) => ({
    call_id: `${n}`,
    tool_name: n < 320 ? 'write' : 'read',
    arguments: n < 320 ? { path: `a/${n}` } : { path: 'a', n },
  }));
  session.runs('too much').observes(calls);
  session.shows('the rest is refused', ({ active_tool_batch: { plan } }) => {
    return plan.rejected.length > 1 && plan.rejected.every(({ code }) => code === 'batch_too_entangled');
  });
  return session.ofRun('RunCancelled').ended('cancelled');
}

/** More sealed pages than the window holds, and more ended runs than the state keeps. */
export function sealedPages() {
  const session = new Recorder('sealed-pages', { tool_package: packageOf([READ]) });
  for (let n = 1; n <= 33; n += 1) session.runs(`question ${n}`).answers(`answer ${n}`);
  session.shows('a page is sealed', ({ transcript }) => transcript.sealed.length === 1 && transcript.open.length === 2);
  session.shows('runs are forgotten', ({ run_history }) => run_history.length === 17);
  session.runs('on and on', { run_overrides: { calls_max: 10_000 } });
  const calls = Array.from({ length: 64 }, (_, n) => ({ call_id: `${n}`, tool_name: n % 2 === 0 ? 'x' : 'y' }));
  const turns = (count) => {
    for (let turn = 1; turn <= count; turn += 1) session.observes(calls).settlesBatch();
  };
  turns(40);
  // A commit that seals several pages.
  session.together(() => turns(10));
  turns(15);
  session.shows('the window is full', ({ transcript }) => transcript.sealed.length === 64 && transcript.count > 4_200);
  return session.answers('enough');
}

/** Values on which encoders, JavaScript engines and locales differ. */
export function oddValues() {
  const named = (tool_id, tool_name) => tool(tool_name, { tool_id, parallelism_hint: { parallel_safe: true } });
  // Objects iterate integer-like keys in numeric order, not in insertion order.
  const tools = [named('10', '10'), named('9', '9'), named('B', 'I'), named('a', 'i'), named('toString', 'valueOf')];
  const tool_package = {
    registry: tools,
    profiles: [profile('10', tools), profile('9', tools.slice(1)), profile('constructor', tools.slice(2))],
    provider_profiles: [
      { provider_contains: 'i', profile_id: '10' },
      { provider_contains: '', profile_id: 'constructor' },
    ],
  };
  // A Turkish locale lowers "I" to a dotless i, and no locale sorts "B" before "a".
  const session = new Recorder('odd-values', { tool_package, config: { provider: 'OPENAI' } });
  session.shows('no locale', (state) => state.effective_tools.profile_id === '10').runs('İıẞß \u0000\u001f\u007f');
  const doubles = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1e21, 1e-7, 1e-6, 123456789012345680000];
  const more = [0.1 + 0.2, 1 / 3, 4.35, 2 ** 53, -9007199254740991, 0.00001, 9.5367431640625e-7, 1e23, -1e-10];
  const keys = { b: 1, 10: 2, 9: 3, 4294967295: 4, '-1': 5, '01': 6, '': 7, a: 8, A: 9 };
  const letters = { '\u{10000}': 1, '\uff61': 2, é: 3, 'e\u0301': 4, ä: 5, z: 6, İ: 7, 'i\u0307': 8, ﬁ: 9 };
  const texts = ['\u2028\u2029', '\u0000\b\f\n\r\t"\\/', '😀👩‍👩‍👧', '\ud7ff\ue000\uffff', '\ufeffx', 'שלום', 'עִבְרִית'];
  const inherited = { constructor: null, toString: true, hasOwnProperty: [], toJSON: {}, length: 0 };
  session.observes([
    call('10', '10', { doubles, more }),
    call('9', '9', keys),
    call('01', 'I', letters),
    call('constructor', 'i', { texts, deep: [[[[[[{ a: [{}, [], ''] }]]]]]] }),
    call('toString', 'valueOf', inherited),
  ]);
  session.settles('toString', { result: { success: true, data: { doubles, ...inherited } }, output: texts.join('|') });
  session.settles('9', { result: { success: true, ...keys, ratio: 0.30000000000000004 } });
  return session.finishesBatch().answers(`${texts.join('')} ${doubles.join(' ')}`);
}

/** A stream forked from another one, whose large texts and arguments are blobs. */
export function forked() {
  const session = new Recorder('forked', {
    tool_package: packageOf([READ, WRITE]),
    config: { instructions: blob('Answer at length. '.repeat(300)) },
    forked_from: { session_id: 'demo', position: 7, chain: `sha256:${'0123456789abcdef'.repeat(4)}` },
  });
  const large = { path: 'a', text: 'é'.repeat(5_000) };
  session.takes('RunRequested', { input: blob('😀 a long question '.repeat(400)), cause: { kind: 'event' } });
  const { arguments: _, ...judged } = call('c1', 'write', large, { provider_call_id: 'call_abc' });
  const calls = [
    { ...judged, arguments_ref: blob(JSON.stringify(large)), claims: [{ access: 'write', key: 'fs/a' }] },
    call('c2', 'read', { path: 'a/b' }),
    call('c3', 'read', { path: 'b' }),
  ];
  session.observes(calls, { content: blob('thinking '.repeat(600)), usage: { input_tokens: 9_000, output_tokens: 7 } });
  session.shows('the claims count', ({ active_tool_batch: { plan } }) => plan.execution_plan.after.c2[0] === 'c1');
  session.together(() =>
    session.settles('c1', { output: 'written' }).takes('ToolCallSettled', {
      ...session.batch,
      call_id: 'c2',
      attempt: 1,
      result: { success: true },
      output: blob('line\n'.repeat(2_000)),
    }),
  );
  return session.settles('c3').settlesBatch().ofRun('RunCompleted').ended('completed');
}

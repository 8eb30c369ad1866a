// The picture of a turn, and the command that prints it.
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import type { CallTimeline, TurnTimeline } from '../../src/core/index.ts';
import { formatDuration, timelineLines } from '../../src/cli/audit/timeline-lines.ts';
import { DEMO, DEMO_EVENTS } from '../support/e2e/recorded-demo.ts';
import { jsonLines, refold } from '../support/e2e/refold.ts';
import { call } from '../support/session.ts';

/** Leaves room for bars of twenty cells, the minimum. */
const NARROW = 40;

const span = (what: 'person' | 'queue' | 'run', from_ms: number, to_ms: number | null) => ({ what, from_ms, to_ms });

const timeline = (tool: string, spans: CallTimeline['spans'], rest: Partial<CallTimeline> = {}): CallTimeline => ({
  call: call('c', tool),
  group: 0,
  status: 'succeeded',
  code: null,
  spans,
  ...rest,
});

const turn = (calls: readonly CallTimeline[], rest: Partial<TurnTimeline> = {}): TurnTimeline => ({
  run_id: 'run-1' as TurnTimeline['run_id'],
  turn: 1,
  asked_ms: 1_000,
  observed_ms: 1_500,
  over_ms: 3_000,
  calls,
  ...rest,
});

const drawn = (of: TurnTimeline, now_ms = 3_000): readonly string[] =>
  timelineLines(of, now_ms, NARROW).map((line) => stripVTControlCharacters(line));

test('a turn is drawn on its own time scale, with waiting and concurrent calls', () => {
  const calls = [
    timeline('read', [span('queue', 1_500, 1_500), span('run', 1_500, 3_000)]),
    timeline('ask', [span('person', 1_500, 2_500), span('queue', 2_500, 2_600), span('run', 2_600, 2_601)]),
    timeline('none', [], { group: null, status: 'rejected', code: 'tool_unknown' }),
  ];
  expect(drawn(turn(calls))).toEqual([
    'turn 1 of run-1  2.00 s, 3 calls: 1.50 s of work in 1.50 s',
    '  model                         │▒▒▒▒▒               │ 500 ms',
    '  read                          │     ███████████████│ 1.50 s ✓',
    '  ask                           │     ??????????·█   │ 1 ms a person took 1.00 s ✓',
    '  none                          │                    │ ✗ tool_unknown',
  ]);
});

test('an open turn is drawn until now', () => {
  const calls = [timeline('slow', [span('queue', 1_500, 2_000), span('run', 2_000, null)], { status: 'running' })];
  expect(drawn(turn(calls, { over_ms: null }))).toEqual([
    'turn 1 of run-1  2.00 s so far',
    '  model                         │▒▒▒▒▒               │ 500 ms',
    '  slow                          │     ·····██████████│ 1.00 s running',
  ]);
});

test('a turn is drawn from the beginning of its compaction', () => {
  expect(drawn(turn([], { compacted: { from_ms: 500, to_ms: 1_000 }, over_ms: 1_500 }))).toEqual([
    'turn 1 of run-1  1.00 s',
    '  compaction                    │▒▒▒▒▒▒▒▒▒▒          │ 500 ms',
    '  model                         │          ▒▒▒▒▒▒▒▒▒▒│ 500 ms',
  ]);
});

test('a turn of no duration is drawn too', () => {
  expect(drawn(turn([], { asked_ms: 1_500, over_ms: 1_500 }))).toEqual([
    'turn 1 of run-1  0 ms',
    '  model                         │▒                   │ 0 ms',
  ]);
});

test('of very many calls, the first hundred are drawn', () => {
  const lines = drawn(turn(Array.from({ length: 103 }, () => timeline('read', [span('run', 1_500, 2_000)]))));
  expect(lines).toHaveLength(103);
  expect(lines.at(-1)).toBe('  … and 3 more calls; --json has all');
});

test.each([
  [999, '999 ms'],
  [1_000, '1.00 s'],
  [59_949, '59.9 s'],
  [61_000, '1 min 1 s'],
  [7_380_000, '2 h 3 min'],
])('%d milliseconds are printed as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('refold timeline draws all turns of a session, or one', async () => {
  const { stdout, code } = await refold(['timeline', DEMO]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/▒ model.*\nturn 1 of run-1 /);
  expect(stdout).toMatch(/ {2}edit_file\(src\/money\.js\) +│ +·*█+ +│ \d+ ms ✓/);
  const calls = DEMO_EVENTS.flatMap((event) => (event.kind === 'ToolCallsObserved' ? event.calls : []));
  expect(stdout).toMatch(new RegExp(`6 turns, ${calls.length} calls; model \\d+ ms, calls [\\d.]+ m?s\\n$`));
  const [fourth, ...others] = jsonLines((await refold(['timeline', DEMO, '--turn', '4', '--json'])).stdout);
  expect(others).toEqual([]);
  expect(fourth).toMatchObject({
    run_id: 'run-1',
    turn: 4,
    calls: [{ call_id: 'call_4_1', spans: [{}, {}] }, {}, {}, {}],
  });
});

test('refold timeline reports a turn that does not exist', async () => {
  const { stderr, code } = await refold(['timeline', DEMO, '--turn', '7']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/has no turn 7/);
});

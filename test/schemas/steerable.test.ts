// The golden vectors and rules of the Steerable Tools Spec as refold implements them (docs/steerable.md lists where its
// sources disagree, and what refold does). The values are copied here; a checkout of the vectors is read too if present.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  ToolCall,
  ToolMode,
  ToolResult,
  decode,
  defineTool,
  inferToolMode,
  isTerminalResult,
} from '../../schemas/index.ts';
import { TOOL_MODE_PREFIXES } from '../../schemas/tool-mode.ts';
import { retryDelay } from '../../reducers/retry.ts';
import { call, session } from '../support/session.ts';

const BUDGET = [
  { exhausted: false, step: 1, steps_used: 1, tokens_used: 150, tool_calls_used: 1 },
  { exhausted: false, step: 2, steps_used: 2, tokens_used: 300, tool_calls_used: 1 },
  { exhausted: true, step: 3, steps_used: 3, tokens_used: 450, tool_calls_used: 2 },
];
/** The limit of the vector. */
const BUDGET_TOKENS_MAX = 400;

const COMPLETION = [
  { input: { success: true }, is_terminal: false },
  { input: { success: false }, is_terminal: true },
  { input: { needsFollowup: true, success: false }, is_terminal: false },
  { input: { terminal: true }, is_terminal: true },
  { input: { success: false, terminal: true }, is_terminal: true },
  { input: {}, is_terminal: false },
  { input: null, is_terminal: false },
];

const POLICY = { create_x: 'safe_write', delete_x: 'destructive', frobnicate: 'other', get_x: 'read' };

const RETRY = {
  delays: [100, 200, 400, 800, 1600],
  policy: { base_delay_ms: 100, jitter: false, max_attempts: 3, max_delay_ms: 2000 },
};

describe('tool modes', () => {
  test.each(Object.entries(POLICY))('%s is %s', (name, mode) => {
    // What Steerable's harness calls `other`, and its screen `unknown`, is never `read`.
    expect(inferToolMode(name)).toBe(mode === 'other' ? 'external' : mode);
  });

  // The union of the prefixes of the document, the harness and the screen.
  const EVERY = {
    read: ['get', 'list', 'read', 'search'],
    safe_write: ['create', 'update', 'set', 'add', 'write', 'apply'],
    destructive: ['delete', 'remove', 'drop', 'archive', 'destroy', 'purge'],
    local: ['local', 'shell', 'exec'],
  } as const;
  const prefixes = Object.entries(EVERY).flatMap(([mode, names]) => names.map((name) => [name, mode] as const));

  test.each(prefixes)('%s_, %s-, in any case, behind any namespace', (prefix, mode) => {
    for (const name of [`${prefix}_x`, `${prefix}-x`, `${prefix.toUpperCase()}_X`, `${prefix}_`]) {
      for (const space of ['', 'slack.', 'mcp__srv__', 'a/', 'a:', 'get_a.delete_b.']) {
        expect(inferToolMode(`${space}${name}`)).toBe(mode);
      }
    }
    for (const name of [prefix, `${prefix}x`, `${prefix}X_y`, `x_${prefix}_y`, `${prefix}_x.other`, `_${prefix}_x`]) {
      expect(inferToolMode(name)).toBe('external');
      expect(inferToolMode(name, 'local')).toBe('local');
    }
  });

  test('there are no other prefixes, and none for `external`', () => {
    const known = TOOL_MODE_PREFIXES.flatMap(([mode, names]) => names.map((name) => `${mode} ${name}`));
    expect(known.sort()).toEqual(prefixes.map(([name, mode]) => `${mode} ${name}`).sort());
    expect(ToolMode.is('external')).toBe(true);
  });

  test('a given mode wins over the name', () => {
    const definition = { tool_id: 't', tool_name: 'delete_everything', description: '', input_schema: {} };
    expect(defineTool(definition).mode).toBe('destructive');
    expect(defineTool({ ...definition, mode: 'safe_write' }).mode).toBe('safe_write');
  });
});

describe('completion', () => {
  test.each(COMPLETION)('$input is terminal: $is_terminal', ({ input, is_terminal }) => {
    expect(isTerminalResult(input)).toBe(is_terminal);
  });

  test('every combination of the three fields: valid, invalid, null, absent or of another type', () => {
    const values = [true, false, null, undefined, 'true', 'false', 0, 1];
    for (const success of values) {
      for (const terminal of values) {
        for (const needsFollowup of values) {
          const expected = terminal === true || (success === false && needsFollowup !== true);
          expect(isTerminalResult({ success, terminal, needsFollowup })).toBe(expected);
        }
      }
    }
    for (const result of [undefined, null, true, 'x', 7, [], [{ terminal: true }]]) {
      expect(isTerminalResult(result)).toBe(false);
    }
  });
});

describe('retries', () => {
  test.each(RETRY.delays.map((delay, index) => [index + 1, delay] as const))('failure %d waits %d ms', (n, delay) => {
    // The function of the vector ignores `max_attempts`; ours does not, so this policy allows enough attempts.
    const policy = { attempts_max: 100, base_ms: RETRY.policy.base_delay_ms, cap_ms: RETRY.policy.max_delay_ms };
    expect(retryDelay(policy, n, { retryable: true })).toBe(delay);
  });

  test('no further attempt after `max_attempts`', () => {
    const policy = { attempts_max: RETRY.policy.max_attempts, base_ms: 100, cap_ms: 2_000 };
    const waits = [1, 2, 3, 4].map((n) => retryDelay(policy, n, { retryable: true }));
    expect(waits).toEqual([100, 200, null, null]);
  });
});

test('the budget is exhausted beyond its limit, not at it', () => {
  let now = session().runRequested({ tokens_max: BUDGET_TOKENS_MAX });
  for (const { exhausted, step, tokens_used } of BUDGET) {
    const used = now.state.run?.usage ?? { input_tokens: 0, output_tokens: 0 };
    const usage = { input_tokens: tokens_used - used.input_tokens, output_tokens: 0 };
    now = now.observed([call(`c${step}`, 'free', { step })], { usage });
    expect(now.ending()?.code === 'tokens_exceeded').toBe(exhausted);
    if (!exhausted) now = now.batchDone();
  }
  expect(now.state.run_history[0]).toMatchObject({ turn: 3, usage: { input_tokens: 450 } });
});

describe('shapes', () => {
  test('a call has exactly three fields; an empty id is valid', () => {
    const made = { id: 'c_42', name: 'create_event', arguments: { title: 'Lunch', start: '2026-05-15T12:00:00Z' } };
    expect(decode(ToolCall, made)._tag).toBe('Right');
    expect(decode(ToolCall, { ...made, id: '', name: '' })._tag).toBe('Right');
    expect(decode(ToolCall, { ...made, attrs: {} })._tag).toBe('Left');
    expect(decode(ToolCall, { id: 'c', name: 'n' })._tag).toBe('Left');
  });

  test.each([
    [{ success: true, message: 'Event created.', data: { eventId: 'e_777' } }, true],
    [{ success: false, needsFollowup: true, error: 'Invalid date format', message: 'Please retry.' }, true],
    [{ success: false, terminal: true, error: 'Calendar service unavailable' }, true],
    [{ success: true, further: { field: 1 } }, true],
    [{ success: true, terminal: null }, false],
    [{ message: 'no success' }, false],
  ])('a result is open to further fields, keeps them, and takes no null: %j', (result, valid) => {
    const decoded = decode(ToolResult, result);
    expect(decoded._tag).toBe(valid ? 'Right' : 'Left');
    if (decoded._tag === 'Right') expect(decoded.right).toEqual(result);
  });
});

/** The published vectors, in a folder next to this checkout. */
const FOLDER = fileURLToPath(new URL('../../../shared/vectors/steerable/', import.meta.url));
const arePresent = existsSync(FOLDER);

describe('the published vectors', () => {
  const OURS: Readonly<Record<string, unknown>> = {
    'budget_timeline.json': BUDGET,
    'completion_decisions.json': COMPLETION,
    'policy_decisions.json': POLICY,
    'retry_no_jitter.json': RETRY,
  };
  /** The vectors of trace spans, which refold does not have. */
  const NOT_OURS = ['trace_span_basic.json'];

  test.runIf(!arePresent)('are not next to this checkout, so they are not compared', () => {
    expect(existsSync(FOLDER)).toBe(false);
  });

  test.runIf(arePresent)('equal the values above, and there are no others', () => {
    expect(readdirSync(FOLDER).sort()).toEqual([...Object.keys(OURS), ...NOT_OURS].sort());
    for (const [name, values] of Object.entries(OURS)) {
      expect(JSON.parse(readFileSync(`${FOLDER}${name}`, 'utf8'))).toEqual(values);
    }
  });
});

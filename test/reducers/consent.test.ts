// Which calls ask a person: the table by mode, exceptions, the flags of the tool, and grants (docs/design.md, "Consent" and
// law 6).
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ConsentPolicy, type Grant, type JsonObject, type ToolMode, brand } from '../../schemas/index.ts';
import type { ToolDefinition } from '../../schemas/define-tool.ts';
import { GRANT_VALUE_CHARS_MAX } from '../../schemas/limits.ts';
import { decideConsent, isGranted, matches } from '../../reducers/consent.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { policyOf } from '../support/consent.ts';
import { tool } from '../support/tools.ts';

const MODES: readonly ToolMode[] = ['read', 'safe_write', 'destructive', 'local', 'external'];

/** A tool of this mode, with defaults for everything else. */
const ofMode = (mode: ToolMode, rest: Partial<ToolDefinition> = {}) =>
  tool('t', { mode, destructive: mode === 'destructive', ...rest });

const decided = (policy: ConsentPolicy, of: ReturnType<typeof ofMode>, grants: readonly Grant[] = []) =>
  decideConsent({ policy, grants }, of, {});

describe('presets', () => {
  // `default`: docs/design.md, "Consent". `steerable`: Steerable Tools Spec, "ToolMode", where only `local` asks.
  // `september`: September, "Confirm before destructive".
  const TABLE = {
    default: ['allow', 'allow', 'ask', 'ask', 'allow'],
    steerable: ['allow', 'allow', 'allow', 'ask', 'allow'],
    september: ['allow', 'allow', 'ask', 'allow', 'ask'],
    careful: ['allow', 'ask', 'ask', 'ask', 'ask'],
    allow_all: ['allow', 'allow', 'allow', 'allow', 'allow'],
    read_only: ['allow', 'deny', 'deny', 'deny', 'deny'],
  } as const;

  test.each(Object.entries(TABLE))('%s: read, safe_write, destructive, local, external are %j', (name, row) => {
    const policy = CONSENT_PRESETS[name as keyof typeof TABLE];
    expect(MODES.map((mode) => decided(policy, ofMode(mode)).decision)).toEqual(row);
  });

  test('there are no further presets', () => {
    expect(Object.keys(CONSENT_PRESETS).sort()).toEqual(Object.keys(TABLE).sort());
  });
});

describe('reasons', () => {
  const strict = policyOf({ modes: { ...CONSENT_PRESETS.allow_all.modes, external: 'ask', destructive: 'ask' } });

  test('a mode that asks, and a destructive tool of another mode', () => {
    expect(decided(strict, ofMode('external'))).toEqual({ decision: 'ask', reasons: ['mode_asks'] });
    expect(decided(strict, ofMode('safe_write', { destructive: true }))).toEqual({
      decision: 'ask',
      reasons: ['destructive_asks'],
    });
    expect(decided(strict, ofMode('external', { destructive: true })).reasons).toEqual([
      'mode_asks',
      'destructive_asks',
    ]);
  });

  test('the destructive flag does not count for commands and custom tools', () => {
    expect(decided(strict, ofMode('local', { destructive: true }))).toEqual({ decision: 'allow', reasons: [] });
    const byHand = ofMode('safe_write', { destructive: true, executor: { kind: 'custom' } });
    expect(decided(strict, byHand)).toEqual({ decision: 'allow', reasons: [] });
  });

  test('a tool that always asks, in any mode', () => {
    for (const mode of MODES) {
      expect(decided(policyOf(), ofMode(mode, { permission_policy: 'always_ask' }))).toEqual({
        decision: 'ask',
        reasons: ['tool_asks'],
      });
    }
  });

  test('exceptions of the session for one tool', () => {
    const asks = policyOf({ tools: { t: 'always_ask' } });
    expect(decided(asks, ofMode('read'))).toEqual({ decision: 'ask', reasons: ['session_asks'] });
    const allows = { ...strict, tools: { t: 'always_allow' as const } };
    expect(decided(allows, ofMode('external', { permission_policy: 'always_ask' }))).toEqual({
      decision: 'allow',
      reasons: ['mode_asks', 'tool_asks', 'session_allows'],
    });
    expect(decided(allows, ofMode('read'))).toEqual({ decision: 'allow', reasons: [] });
  });

  test('a workflow tool never asks, but can be denied', () => {
    const workflow = ofMode('read', { executor: { kind: 'workflow', workflow: 'w' }, permission_policy: 'always_ask' });
    expect(decided(policyOf(), workflow)).toEqual({ decision: 'allow', reasons: [] });
    expect(decided(policyOf({ tools: { t: 'deny' } }), workflow).decision).toBe('deny');
  });
});

const policies = fc.record({
  modes: fc.record(
    Object.fromEntries(MODES.map((mode) => [mode, fc.constantFrom('allow', 'ask', 'deny')])) as never,
  ) as fc.Arbitrary<ConsentPolicy['modes']>,
  tools: fc.dictionary(fc.constantFrom('t', 'u'), fc.constantFrom('always_allow', 'always_ask', 'deny')),
}) as unknown as fc.Arbitrary<ConsentPolicy>;
const tools = fc
  .tuple(fc.constantFrom(...MODES), fc.boolean(), fc.constantFrom('always_allow' as const, 'always_ask' as const))
  .map(([mode, destructive, permission_policy]) => ofMode(mode, { destructive, permission_policy }));
const GRANT: Grant = { tool_id: brand<'ToolId'>('t') };

test('deny wins, over exceptions and grants, for every policy and tool', () => {
  fc.assert(
    fc.property(policies, tools, fc.boolean(), (policy, of, granted) => {
      const { decision, reasons } = decided(policy, of, granted ? [GRANT] : []);
      const beside = of.destructive && of.mode !== 'local' && policy.modes.destructive === 'deny';
      const denied = policy.modes[of.mode] === 'deny' || policy.tools[of.tool_id] === 'deny' || beside;
      expect(decision === 'deny').toBe(denied);
      // Every question and refusal has a reason, and a grant leaves no question.
      if (decision !== 'allow') expect(reasons.length).toBeGreaterThan(0);
      if (granted) expect(decision).not.toBe('ask');
    }),
  );
});

describe('grants', () => {
  const grant = (rest: Partial<Grant> = {}): Grant => ({ ...GRANT, ...rest });
  const covers = (pattern: string, args: JsonObject | null): boolean =>
    isGranted(grant({ argument: 'path', pattern }), { tool_id: brand('t') }, args);

  test('a grant without a pattern covers every call of its tool and of no other tool', () => {
    expect(isGranted(grant(), { tool_id: brand('t') }, null)).toBe(true);
    expect(isGranted(grant(), { tool_id: brand('t.u') }, {})).toBe(false);
  });

  test.each([
    ['src/**', 'src/a/b.ts', true],
    ['src/**', 'src/', true],
    ['src/**', 'src', false],
    ['src/*', 'src/a.ts', true],
    ['src/*', 'src/a/b.ts', false],
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a/b.ts', false],
    ['**/*.ts', 'a/b/c.ts', true],
    ['**', '', true],
    ['*', 'a b', false],
    ['git *', 'git status', true],
    ['git *', 'git status\trm', false],
    ['git *', 'git push origin', false],
    ['git **', 'git push origin', true],
    ['a', 'a', true],
    ['a', 'A', false],
    ['a', 'ab', false],
    ['a.c', 'abc', false],
    // A `..` segment may lead out of the folder that the pattern names.
    ['src/**', 'src/../etc', false],
    ['**', '..', false],
    ['**', 'cat ../x', false],
    ['src/**', 'src/a..b', true],
  ])('%s on %j: %s', (pattern, path, expected) => {
    expect(covers(pattern, { path })).toBe(expected);
  });

  test('an array of plain words is matched as a command line; other values never match', () => {
    expect(covers('git *', { path: ['git', 'status'] })).toBe(true);
    expect(covers('git *', { path: ['git', 'push', 'x'] })).toBe(false);
    for (const path of [['git', 'a b'], ['git', ''], ['git', "'"], ['git', 7], 7, true, null, { a: 1 }, ['..']]) {
      expect(covers('**', { path })).toBe(false);
    }
  });

  test('missing, inherited or too long arguments and arguments in a blob do not match', () => {
    expect(covers('**', {})).toBe(false);
    expect(covers('**', null)).toBe(false);
    expect(isGranted(grant({ argument: 'toString', pattern: '**' }), { tool_id: brand('t') }, {})).toBe(false);
    expect(covers('**', { path: 'a'.repeat(GRANT_VALUE_CHARS_MAX) })).toBe(true);
    expect(covers('**', { path: 'a'.repeat(GRANT_VALUE_CHARS_MAX + 1) })).toBe(false);
  });
});

describe('wildcards', () => {
  /** The definition by trial: a wildcard matches nothing, or one more character. */
  function naive(tokens: readonly string[], value: string): boolean {
    const [token, ...rest] = tokens;
    if (token === undefined) return value === '';
    if (token !== '*' && token !== '**') return value.startsWith(token) && naive(rest, value.slice(token.length));
    if (naive(rest, value)) return true;
    const [first] = value;
    if (first === undefined || (token === '*' && /[\s/]/.test(first))) return false;
    return naive(tokens, value.slice(1));
  }

  const TOKENS = fc.array(fc.constantFrom('*', '**', 'a', 'b', '/', ' ', 'ab'), { maxLength: 8 });
  const VALUE = fc.array(fc.constantFrom('a', 'b', '/', ' '), { maxLength: 10 }).map((parts) => parts.join(''));

  test('match exactly what the definition matches', () => {
    let both = 0;
    fc.assert(
      fc.property(TOKENS, VALUE, (tokens, value) => {
        // Two adjacent `*` read as `**`, so the reference reads the text of the pattern, not its parts.
        const pattern = tokens.join('');
        const read = pattern.split(/(\*\*|\*)/).filter((token) => token !== '');
        const expected = naive(read, value);
        if (expected) both += 1;
        expect(matches(pattern, value)).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
    expect(both).toBeGreaterThan(100);
  });

  test('the longest adversarial patterns are fast on the longest value', () => {
    const value = 'a'.repeat(GRANT_VALUE_CHARS_MAX);
    const started = performance.now();
    for (const part of ['*a', '**a', '*a*b', '**/', 'a**']) {
      const pattern = part.repeat(Math.floor(1_000 / part.length));
      expect(matches(`${pattern}c`, value)).toBe(false);
    }
    // Backtracking would take longer than the age of the universe; the bound is generous for slow machines.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
